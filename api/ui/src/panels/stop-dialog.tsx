// The question before a paper or live run is stopped.
import { useEffect, useState } from "preact/hooks";
import type { Order } from "../api/types.ts";
import { source } from "../state/source.ts";
import { config, hello, positions, recent, running, status } from "../state/store.ts";
import { dialog } from "../state/view.ts";
import { Modal } from "./modal.tsx";
import { OpenOrders, OpenPositions } from "./open.tsx";
import { stopEffect } from "./sentences.ts";
import { stopNow } from "./stop.ts";

const close = () => (dialog.value = null);

export function StopDialog() {
  const orders = useOrders();
  const live = status.value.mode === "live";
  // The run may end while the question stands.
  const on = running.value;
  useEffect(() => {
    if (!on) close();
  }, [on]);
  const stop = () => {
    close();
    void stopNow();
  };
  return (
    <Modal title={live ? "Stop the live run? It trades real money" : "Stop the paper run?"} onClose={close}>
      <div class="dialog-body">
        <p>{config.value?.strategy_name} on {config.value?.exchange || "its exchange"}: {config.value?.symbols.join(", ")}. {stopEffect(hello.value?.on_stop ?? "", live)}</p>
        <OpenOrders orders={orders} />
        <OpenPositions positions={positions.value} />
      </div>
      <div class="dialog-buttons">
        <button type="button" autofocus onClick={close}>Keep running</button>
        <button type="button" class="danger" onClick={stop}>Stop the run</button>
      </div>
    </Modal>
  );
}

/** The newest 500 orders: an order that is open may be older than those at hand. */
function useOrders(): Order[] {
  const [orders, setOrders] = useState<Order[] | null>(null);
  useEffect(() => {
    let on = true;
    source.peek().rows("orders", 0, 500).then((page) => on && setOrders(page.items), () => undefined);
    return () => {
      on = false;
    };
  }, []);
  // What came since then is newer than the page.
  const at = new Map((orders ?? []).map((order) => [order.order_id, order]));
  for (const order of recent.value.orders) at.set(order.order_id, order);
  return [...at.values()];
}
