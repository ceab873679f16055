// Parameters that are secret must not be read off the screen or leave in a report.
import { mentionsSecret } from "../form/schema.ts";
import { isObject } from "../stream/frame.ts";

const hidden = "[hidden]";

/** The parameters without what the strategy's schema calls secret; a strategy that is not known may call all of them so. */
export function masked(params: Record<string, unknown>, schema: unknown): Record<string, unknown> {
  const { properties, ...rest } = isObject(schema) ? schema : {};
  const all = !isObject(schema) || mentionsSecret(rest);
  const secret = (key: string) => all || (isObject(properties) && Object.hasOwn(properties, key) && mentionsSecret(properties[key]));
  return Object.fromEntries(Object.entries(params).map(([key, value]) => [key, secret(key) ? hidden : value]));
}
