// Copying to the clipboard. Without a secure context the browser has none: then the
// text is shown selected.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { announce } from "../state/view.ts";
import { Icon } from "./icon.tsx";
import { Modal } from "./modal.tsx";

const byHand = signal<{ what: string; text: string } | null>(null);

interface Props {
  text: string | (() => string);
  /** What is copied, as in "Copy run id". */
  what: string;
  /** Words on the button instead of the sign alone. */
  children?: ComponentChildren;
}

export function Copy({ text, what, children }: Props) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    const value = typeof text === "string" ? text : text();
    try {
      await navigator.clipboard.writeText(value);
      setCopied(true);
      announce(`${what} copied`);
    } catch {
      byHand.value = { what, text: value };
    }
  };
  const icon = <Icon name={copied ? "check" : "copy"} />;
  if (children) return <button type="button" onClick={copy}>{icon}{copied ? "Copied" : children}</button>;
  return <button type="button" class="quiet" aria-label={`Copy ${what}`} title={`Copy ${what}`} onClick={copy}>{icon}</button>;
}

/** The text to copy by hand, while there is one. */
export function CopyByHand() {
  const box = useRef<HTMLTextAreaElement>(null);
  const now = byHand.value;
  useEffect(() => box.current?.select(), [now]);
  if (!now) return null;
  const close = () => (byHand.value = null);
  return (
    <Modal title={`Copy ${now.what}`} onClose={close}>
      <p class="dialog-body">The browser does not let this page write to the clipboard. Press Ctrl+C.</p>
      <textarea ref={box} readOnly autofocus rows={6} class="mono" aria-label={now.what} value={now.text} />
      <div class="dialog-buttons"><button type="button" onClick={close}>Close</button></div>
    </Modal>
  );
}
