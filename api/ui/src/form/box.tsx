// A red box that says what went wrong. It may go while it has the focus.
import type { ComponentChildren, RefObject } from "preact";
import { useKeepFocus } from "../panels/focus.ts";

interface Props {
  box: RefObject<HTMLDivElement | null>;
  /** Whether it is read aloud and can take the focus. */
  alert?: boolean;
  children: ComponentChildren;
}

export function Box({ box, alert, children }: Props) {
  useKeepFocus(box);
  return <div ref={box} class="refusal" {...(alert && { role: "alert" as const, tabIndex: -1 })}>{children}</div>;
}
