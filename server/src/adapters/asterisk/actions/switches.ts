import type { SwitchVerbs } from '../../../ports/engine-verbs.ts';
import { ACTION_MS } from '../ami/connection.ts';
import type { AmiConnection } from '../ami/connection.ts';
import { LIT, SWITCHES, UNLIT, switchState } from '../conf/switch-contexts.ts';
import { slug } from '../conf/text.ts';
import type { SwitchFact } from '../events/system.ts';
import { asked, storeNotWritten, storeRows } from './store-rows.ts';
import type { StoreRows } from './store-rows.ts';

/*
 * DBPut   Family Key Val
 * DBDel   Family Key              an error where there is no such key
 * Setvar  Variable(a function) Value, without a channel
 */
/** Switched time conditions, by name. */
export function switchesIn(rows: StoreRows): Map<string, 'open' | 'closed'> {
  const found = new Map<string, 'open' | 'closed'>();
  for (const [name, to] of rows) if (to === 'open' || to === 'closed') found.set(name, to);
  return found;
}
/** The verb for night switches. `report` receives what the store has afterwards. */
export const switchActions = (
  actions: () => AmiConnection,
  report: (fact: SwitchFact) => void,
): SwitchVerbs => ({
  async keepSwitch(name, to, { signal } = {}) {
    // One verb is several actions, so none of them can use the given id.
    const options = { ms: ACTION_MS.member, ...(signal === undefined ? {} : { signal }) };
    const of = { Family: SWITCHES, Key: slug(name, 'the name of a time condition') };
    if (to === null) await actions().action('DBDel', of, options);
    else await actions().action('DBPut', { ...of, Val: to }, options);
    const Variable = `DEVICE_STATE(${switchState(of.Key)})`;
    await actions().action('Setvar', { Variable, Value: to === null ? UNLIT : LIT }, options);
    const now = switchesIn(await asked(storeRows(actions(), SWITCHES, signal))).get(name) ?? null;
    report({ type: 'night_switch.changed', name, to: now, by: null });
    if (now !== to) throw storeNotWritten();
  },
});
