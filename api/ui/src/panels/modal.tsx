// A dialog over the page. The browser keeps the focus inside and closes it with Esc.
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { keepFocus } from "./focus.ts";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** Open as long as it is rendered. */
export function Modal({ title, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => {
      if (dialog?.open) dialog.close();
      keepFocus();
    };
  }, []);
  return (
    <dialog ref={ref} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
