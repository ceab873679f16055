// The few signs that stand beside words. Drawn here, because fonts differ in which they have.
const shapes = {
  check: "M3 8.5l3.5 3.5L13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  warn: "M8 2.5l6.5 11h-13zM8 6.5v3.5M8 11.6v.4",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  ring: "M8 3.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9",
  dot: "M8 3.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9",
  square: "M4 4h8v8h-8z",
  auto: "M8 2.5a5.5 5.5 0 1 1 0 11zM8 2.5a5.5 5.5 0 1 0 0 11",
  light: "M8 5a3 3 0 1 1 0 6a3 3 0 1 1 0-6M8 1v1.5M8 13.5v1.5M1 8h1.5M13.5 8h1.5M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
  dark: "M13.5 9.5a6 6 0 1 1-7-7a4.8 4.8 0 0 0 7 7z",
};

export type IconName = keyof typeof shapes;
const filled: readonly IconName[] = ["dot", "square"];

/** A sign; what it means is said by words beside it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={filled.includes(name) ? "icon filled" : "icon"} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={shapes[name]} />
    </svg>
  );
}
