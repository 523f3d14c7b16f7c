// Ranges, refusals, and what becomes of an exception. There is nothing to change here.

import * as configuration from "tenure:ipam/configuration@0.1.0-rc.1";
import { write } from "tenure:ipam/log@0.1.0-rc.1";
import type { AddressRange, ConfigError, Refusal } from "tenure:ipam/types@0.1.0-rc.1";

/** The ranges at a path, such as `ipam`. Throws what `define` may throw if they are wrong. */
export function ranges(path: string): AddressRange[][] {
  try {
    return configuration.ranges(path);
  } catch (thrown) {
    throw payload(thrown);
  }
}

/** What a function of the host returned as its error. */
function payload(thrown: unknown): ConfigError {
  return thrown instanceof Error && "payload" in thrown ? (thrown.payload as ConfigError) : (thrown as ConfigError);
}

/** A key of the configuration is wrong. To be thrown by `define`. */
export const wrong = (path: string, message: string): ConfigError => ({ path, message, attributes: [] });

/** Nothing is free. To be thrown. */
export const exhausted = (message: string): Refusal => ({ tag: "exhausted", val: { message, attributes: [] } });

/** Any other reason. To be thrown. */
export const refused = (message: string): Refusal => ({ tag: "other", val: { message, attributes: [] } });

/** A text as the host takes it: half of a pair of surrogates, which UTF-8 does not have, is written as `\ud800`. */
const legible = (text: string) => text.replace(/[\ud800-\udfff]/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);

/** The function, with an error in the log before it fails the call. A refusal is not an error. */
export const told = <Argument, Answer>(rule: (argument: Argument) => Answer) => (argument: Argument): Answer => {
  try {
    return rule(argument);
  } catch (thrown) {
    if (thrown instanceof Error) {
      const places = (thrown.stack ?? "").trim().split("\n").map((line) => line.trim());
      write({ tag: "warn" }, legible([`${thrown.name}: ${thrown.message}`, ...places].join("; ")));
    }
    throw thrown;
  }
};
