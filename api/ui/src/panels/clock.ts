// Time that passes on the page while nothing arrives from the service.
import { useEffect, useState } from "preact/hooks";

/** performance.now(), renewed every second while active. */
export function useNow(active: boolean): number {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    if (!active) return;
    setNow(performance.now());
    const timer = setInterval(() => setNow(performance.now()), 1000);
    return () => clearInterval(timer);
  }, [active]);
  return now;
}
