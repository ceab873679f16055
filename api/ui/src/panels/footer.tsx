// Attribution, licences and what every time on the page means.
import { computed } from "@preact/signals";
import { hello } from "../state/store.ts";

const version = computed(() => hello.value?.service_version ?? "");

export function Footer() {
  return (
    <footer class="footer">
      <span>Times are UTC</span>
      <a href="/docs/guide">Guide</a>
      <a href="/docs">API docs</a>
      <a href="/ui/licenses">Licences</a>
      {version.value && <span>Assay {version.value}</span>}
      <a href="https://www.tradingview.com/" rel="noreferrer noopener">Charts: TradingView Lightweight Charts</a>
    </footer>
  );
}
