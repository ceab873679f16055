// A question that is answered before something irreversible happens.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Modal } from "./modal.tsx";

export interface Question {
  title: string;
  body: ComponentChildren;
  /** The words on the button that agrees. */
  action: string;
  danger?: boolean;
}

const asked = signal<(Question & { answer: (yes: boolean) => void }) | null>(null);

/** Asks; false when the person cancels, presses Esc, or another question comes. */
export function confirm(question: Question): Promise<boolean> {
  asked.value?.answer(false);
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer(yes) {
        asked.value = null;
        resolve(yes);
      },
    };
  });
}

export function Confirm() {
  const question = asked.value;
  if (!question) return null;
  return (
    <Modal title={question.title} onClose={() => question === asked.value && question.answer(false)}>
      <div class="dialog-body">{question.body}</div>
      <div class="dialog-buttons">
        <button type="button" autofocus onClick={() => question.answer(false)}>Cancel</button>
        <button type="button" class={question.danger ? "danger" : "primary"} onClick={() => question.answer(true)}>{question.action}</button>
      </div>
    </Modal>
  );
}
