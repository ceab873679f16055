// Bundles with npm's esbuild, with the options of bundle.go, into charts.js,
// app.js, pages.js, app.css, pages.css and icon.svg of the folder given. scripts/check-dashboard.sh compares them with dist: two
// distributions of one bundler agree on the bytes.
import { build } from "esbuild";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const vendored = {
  "preact": "preact/preact.mjs",
  "preact/hooks": "preact/hooks.mjs",
  "preact/jsx-runtime": "preact/jsxRuntime.mjs",
  "@preact/signals": "preact-signals/signals.mjs",
  "@preact/signals-core": "preact-signals/signals-core.mjs",
  "lightweight-charts": "lightweight-charts/lightweight-charts.production.mjs",
  "fancy-canvas": "fancy-canvas/index.mjs",
};

const options = {
  absWorkingDir: fileURLToPath(new URL("..", import.meta.url)),
  outdir: process.argv[2],
  bundle: true, minify: true, format: "esm", target: "es2022", platform: "browser", charset: "utf8", legalComments: "none",
  jsx: "automatic", jsxImportSource: "preact", tsconfigRaw: {},
  alias: Object.fromEntries(Object.entries(vendored).map(([name, file]) => [name, "./third_party/" + file])),
  loader: { ".svg": "copy" },
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
};
const library = await build({ ...options, entryPoints: [{ in: "src/chart/charts.ts", out: "charts" }] });
const page = await build({
  ...options, external: ["./charts.ts"], splitting: true, chunkNames: "chunk",
  entryPoints: [{ in: "src/main.tsx", out: "app" }, { in: "src/pages/index.tsx", out: "pages" }, { in: "src/app.css", out: "app" },
    { in: "src/pages/pages.css", out: "pages" }, { in: "src/icon.svg", out: "icon" }],
});
renameSync(join(options.outdir, "chunk.js"), join(options.outdir, "app.js"));
if (library.warnings.length + page.warnings.length > 0) process.exit(1);
