/**
 * Night switches: a phone switches a time condition from the side of its hours to the other, until it is switched back. The state
 * is in the engine's own store, so that it is kept while the service is down: `offhook/switch/<time condition>` is `open` or
 * `closed`.
 */
import type { Site } from '../../../ports/site.ts';
import { dialledPatterns } from '../../../routing/plan.ts';
import { STORE } from './self-service-contexts.ts';
import { at, context, exten } from './dialplan-text.ts';
import { conf, dialled, joined, pattern, slug } from './text.ts';
import type { ConfText } from './text.ts';

export const SWITCHES = conf`${STORE}/switch`;
/** Name of the event that reports a switch. */
export const SWITCHED = conf`OffhookSwitch`;
export const switchState = (name: ConfText): ConfText => conf`Custom:switch-${name}`;
export const LIT = conf`INUSE`;
export const UNLIT = conf`NOT_INUSE`;

type TimeCondition = Site['time_conditions'][number];
/** Time conditions that phones can switch. */
export const switched = ({ time_conditions }: Pick<Site, 'time_conditions'>): readonly TimeCondition[] =>
  time_conditions.filter(({ number, switched_by }) => number !== null && switched_by.length > 0);
const nameOf = (t: TimeCondition): ConfText => slug(t.name, 'the name of a time condition');
const numberOf = (t: TimeCondition): ConfText => dialled(t.number ?? '', `time condition ${t.name}: number`);
/** First steps of a time condition: a switch counts before its hours. */
export const switchSteps = (t: TimeCondition, site: Site): readonly ConfText[] =>
  switched(site).includes(t)
    ? [
        conf`GotoIf($["$\{DB(${SWITCHES}/${nameOf(t)})}" = "open"]?open)`,
        conf`GotoIf($["$\{DB(${SWITCHES}/${nameOf(t)})}" = "closed"]?closed)`,
      ]
    : [];

/** Switches ARG1 to the other side of now, or back; leaves 1 in GOSUB_RETVAL where it is switched then. */
const TOGGLE = context(conf`toggle-switch`, [
  exten(conf`s`, [
    conf`GotoIf($\{LEN($\{DB(${SWITCHES}/$\{ARG1})})}?back)`,
    conf`Gosub(open-$\{ARG1},s,1)`,
    conf`Set(LOCAL(TO)=$\{IF($\{LEN($\{GOSUB_RETVAL})}?closed:open)})`,
    conf`Set(DB(${SWITCHES}/$\{ARG1})=$\{TO})`,
    conf`Set(DEVICE_STATE(${switchState(conf`$\{ARG1}`)})=${LIT})`,
    conf`UserEvent(${SWITCHED},Switch: $\{ARG1},To: $\{TO},By: $\{OFFHOOK_EXTENSION})`,
    conf`Return(1)`,
    at(conf`back`, conf`Set(LOCAL(WAS)=$\{DB_DELETE(${SWITCHES}/$\{ARG1})})`),
    conf`Set(DEVICE_STATE(${switchState(conf`$\{ARG1}`)})=${UNLIT})`,
    conf`UserEvent(${SWITCHED},Switch: $\{ARG1},To: ,By: $\{OFFHOOK_EXTENSION})`,
    conf`Return()`,
  ]),
]);
/** `Gosub(switches,<number>,1)` switches for the extension that dials, and leaves `1`, nothing, or `refused`. */
export function switchContexts(site: Site): ConfText {
  const all = switched(site);
  if (all.length === 0) return conf``;
  return joined(
    [
      TOGGLE,
      context(
        conf`switches`,
        all.map((t) =>
          exten(numberOf(t), [
            conf`GotoIf($\{DIALPLAN_EXISTS(may-switch-${nameOf(t)},$\{OFFHOOK_EXTENSION},1)}?:refused)`,
            conf`Gosub(toggle-switch,s,1(${nameOf(t)}))`,
            conf`Return($\{GOSUB_RETVAL})`,
            at(conf`refused`, conf`Return(refused)`),
          ]),
        ),
      ),
      ...all.map((t) =>
        context(
          conf`may-switch-${nameOf(t)}`,
          t.switched_by.map((e) => exten(dialled(e, `time condition ${t.name}: extension`), [conf`NoOp()`])),
        ),
      ),
    ],
    '',
  );
}
/** The lamp of a night key is lit while it is switched; its number is the code with that of the time condition. */
export const switchHints = (site: Site): readonly ConfText[] =>
  site.feature_codes
    .filter(({ does }) => does.action === 'night_switch')
    .flatMap((code) => dialledPatterns(code))
    .map((p) => pattern(p.replace(/^_|X\.$/g, ''), 'the code of night switches'))
    .flatMap((code) =>
      switched(site).map(
        (t) => conf`exten => ${code}${numberOf(t)},hint,${switchState(nameOf(t))}
`,
      ),
    );
