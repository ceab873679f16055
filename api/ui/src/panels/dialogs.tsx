// Everything that opens above the page.
import { dialog } from "../state/view.ts";
import { Confirm } from "./confirm.tsx";
import { CopyByHand } from "./copy.tsx";
import { Help } from "./help.tsx";
import { StopDialog } from "./stop-dialog.tsx";

export function Dialogs() {
  return (
    <>
      {dialog.value === "help" && <Help />}
      {dialog.value === "stop" && <StopDialog />}
      <Confirm />
      <CopyByHand />
    </>
  );
}
