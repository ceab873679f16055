// The question before a paper or live run is stopped.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Positions } from "../state/session.ts";
import { config, exchanges, hello, running, status, strategyName } from "../state/store.ts";
import { dialog } from "../state/view.ts";
import { Modal } from "./modal.tsx";
import { Age, OpenOrders, OpenPositions } from "./open.tsx";
import { stopEffect } from "./sentences.ts";
import { stopNow } from "./stop.ts";

const close = () => (dialog.value = null);

export function StopDialog() {
  const live = status.value.mode === "live", run = config.value;
  const play = exchanges.value?.find((e) => e.id === run?.exchange)?.connector === "sim";
  // The run may end while the question stands.
  const choice = useSignal<Positions>((hello.value?.on_stop || "cancel") as Positions);
  const on = running.value;
  useEffect(() => {
    if (!on) close();
  }, [on]);
  const stop = () => {
    close();
    void stopNow(live && choice.value !== hello.value?.on_stop ? choice.value : "");
  };
  return (
    <Modal title={live ? `Stop the live run?${play ? "" : " It trades real money"}` : "Stop the paper run?"} onClose={close}>
      <div class="dialog-body">
        {run && <p><bdi>{strategyName}</bdi> on <bdi>{run.exchange || "its exchange"}</bdi>: {run.symbols.join(", ")}.</p>}
        {live && (
          <label>
            Orders and positions{" "}
            <select value={choice.value} onChange={(e) => (choice.value = e.currentTarget.value as Positions)}>
              <option value="leave">leave exits at the exchange</option>
              <option value="cancel">cancel all orders, keep positions</option>
              <option value="flatten">sell everything</option>
            </select>
          </label>
        )}
        <p>{stopEffect(live ? choice.value : hello.value?.on_stop ?? "", live)}</p>
        <Age />
        <OpenOrders />
        <OpenPositions />
      </div>
      <div class="dialog-buttons">
        <button type="button" autofocus onClick={close}>Keep running</button>
        <button type="button" class="danger" onClick={stop}>Stop the run</button>
      </div>
    </Modal>
  );
}
