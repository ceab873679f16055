// Foreign text, such as the names of a plugin, inside a sentence or an <option>: its
// writing direction stays its own. Where there is markup <bdi> does the same.

/** The text in first strong isolate marks, without direction marks of its own that could end them. Plain ASCII stays as it is. */
export function isolated(text: string): string {
  return /^[ -~]*$/.test(text) ? text : "\u2068" + text.replace(/[\u202a-\u202e\u2066-\u2069]/g, "") + "\u2069";
}
