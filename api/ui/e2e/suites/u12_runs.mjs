// U12, second half: runs on their way and at their end.
import { accessible } from "../lib/accessible.mjs";
import { during } from "../lib/states.mjs";

export default (t) => accessible(t, Object.keys(during));
