// U12, last third: the other ends of a run, and a connection that is lost.
import { accessible } from "../lib/accessible.mjs";
import { during } from "../lib/states.mjs";

export default (t) => accessible(t, Object.keys(during).slice(3));
