// Runs one suite: node run.mjs <suite> <configuration as JSON>. e2e_test.go starts it and
// reads the findings. It ends what it has started when it is done, is told to end, or
// when whoever started it is gone (its standard input closes).
import { report } from "./lib/report.mjs";
import { Suite } from "./lib/suite.mjs";

const [name, configuration] = process.argv.slice(2);
const suite = new Suite(JSON.parse(configuration), name);

let over = false;
function breakOff() {
  if (over) return;
  over = true;
  suite.abandon();
  process.exit(1);
}
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, breakOff);
process.stdin.on("end", breakOff).resume();

try {
  const { default: run } = await import(`./suites/${name}.mjs`);
  await run(suite);
} catch (e) {
  report("the suite", false, e.stack ?? e);
} finally {
  await suite.end();
}
report("end", true);
over = true;
process.stdin.destroy();
