/** The part of a call to an extension that waits for its app (wake-contexts.ts). */
import { at } from './dialplan-text.ts';
import { conf } from './text.ts';
import type { ConfText } from './text.ts';

/** Extensions with an app that a push wakes, in the engine's own store. */
export const WAKEABLE = conf`offhook-push`;
/** True where the mobile device of the dialled extension has an address; `mark` is what an expression begins with. */
export const addressesOf = (mark: ConfText): ConfText =>
  conf`${mark}{LEN(${mark}{PJSIP_DIAL_CONTACTS(${mark}{EXTEN}-mobile)})}`;
export const isThere = addressesOf(conf`$`);

/** Adds the waiting part to the addresses in FOUND where KIND, the choice of devices, has the mobile one. */
export const addWaking: readonly ConfText[] = [
  conf`GotoIf($[$\{DB_EXISTS(${WAKEABLE}/$\{EXTEN})} & ("$\{KIND}" = "devices-" | $\{REGEX("mobile" $\{KIND})})]?:found)`,
  conf`GotoIf(${isThere}?found)`,
  conf`Set(LOCAL(FOUND)=$\{FOUND}&Local/$\{EXTEN}@wake)`,
  at(conf`found`, conf`Return($\{FOUND})`),
];
