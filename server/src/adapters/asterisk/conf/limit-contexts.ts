/**
 * Limits of calls to numbers outside, kept by the engine alone, so that they hold while the service is down. A call is asked
 * before it goes out (`ask`), and counted on the channel of the trunk, which lives as long as the call costs money: after a
 * transfer too. Count and check are one step under a lock, so that two calls at one moment cannot both be the last that is allowed.
 */
import type { SiteCallLimit } from '../../../ports/site.ts';
import { ROUTE_CLASSES } from '@offhook/contract/config-fields.ts';
import { ServiceError } from '../../../core/errors.ts';
import { COUNTRY_SIGNS } from '../../../routing/plan.ts';
import type { CallPlan } from '../../../routing/plan.ts';
import { at, context, exten } from './dialplan-text.ts';
import { conf, dialled, joined, outside, slug, timeZone, whole, word } from './text.ts';
import type { ConfText } from './text.ts';

const nothing = conf``;
const MINUTE_S = 60;
/** Store of the counters: `offhook-spent/<limit>/<extension>`. */
const SPENT = conf`offhook-spent`;
/** Counter shared by all extensions of a limit. */
const SHARED = conf`shared`;
const counterOf = (l: SiteCallLimit): ConfText => conf`${SPENT}/${nameOf(l)}/${ownerOf(l)}`;
/** Whose counter it is; ARG1 is the extension. */
const ownerOf = (l: SiteCallLimit): ConfText => (l.shared ? SHARED : conf`$\{ARG1}`);
/**
 * A counter is `<YYYYMMDDHH>-<calls of the hour>-<seconds of the hour>-<calls of the day>-<seconds of the day>`: one value, so
 * that it is always written whole. These steps leave it in a variable as of HOUR: counts of another hour or day are 0.
 */
const read = (counter: ConfText, kept: ConfText): readonly ConfText[] => [
  conf`Set(LOCAL(${kept})=$\{DB(${counter})})`,
  conf`Set(LOCAL(${kept})=$\{IF($["$\{${kept}:0:10}" = "$\{HOUR}"]?$\{${kept}}:$\{HOUR}-0-0-$\{IF($["$\{${kept}:0:8}" = "$\{HOUR:0:8}"]?$\{CUT(${kept},-,4-5)}:0-0)})})`,
];
const part = (kept: ConfText, n: 2 | 3 | 4 | 5): ConfText =>
  conf`$\{CUT(${kept},-,${whole(n, 'a part of a counter', 2, 5)})}`;
const hourSteps = (zone: ConfText): ConfText => conf`Set(LOCAL(HOUR)=$\{STRFTIME(,${zone},%Y%m%d%H)})`;

/**
 * The lock of all counters. A channel holds it while it is the only one of its group, which takes the engine some microseconds;
 * LOCK has the channel serviced meanwhile, and on one that hangs up that takes 10 to 60 ms (ADR 0035). It queues those who
 * found the group taken.
 */
const LOCK_GROUP = conf`Set(GROUP(limits-lock)=held)`;
const UNLOCK = conf`Set(GROUP(limits-lock)=)`;
const ALONE = conf`$[$\{GROUP_COUNT(held@limits-lock)} = 1]`;
const lock = (otherwise: ConfText): readonly ConfText[] => [
  LOCK_GROUP,
  conf`GotoIf(${ALONE}?$[$\{PRIORITY} + 3])`,
  conf`Gosub(limits-wait,s,1)`,
  conf`GotoIf($\{LEN($\{GOSUB_RETVAL})}?:${otherwise})`,
];
const TRIES = whole(200, 'tries to lock', 1, 10_000);
/** Returns 1 once this channel has the lock. A wait of LOCK and UNLOCK with an unused name lets other channels continue. */
const WAIT = context(conf`limits-wait`, [
  exten(conf`s`, [
    UNLOCK,
    conf`GotoIf($\{LOCK(call-limits)}?:never)`,
    conf`Set(LOCAL(TRIED)=0)`,
    at(conf`again`, LOCK_GROUP),
    conf`GotoIf(${ALONE}?alone)`,
    UNLOCK,
    conf`Set(LOCAL(TRIED)=$[$\{TRIED} + 1])`,
    conf`GotoIf($[$\{TRIED} > ${TRIES}]?late)`,
    conf`Set(LOCAL(PAUSE)=$\{LOCK(limits-pause)}$\{UNLOCK(limits-pause)})`,
    conf`Goto(again)`,
    at(conf`alone`, conf`Set(LOCAL(FREED)=$\{UNLOCK(call-limits)})`),
    conf`Return(1)`,
    at(conf`late`, conf`Set(LOCAL(FREED)=$\{UNLOCK(call-limits)})`),
    at(conf`never`, conf`Return()`),
  ]),
]);

const nameOf = (l: SiteCallLimit): ConfText => slug(l.name, 'the name of a call limit');
const most = (l: SiteCallLimit, field: Bound, times = 1): ConfText | null => {
  const value = l[field];
  return value === null ? null : whole(value * times, `call limit ${l.name}: ${field}`, 1, 100_000_000);
};
type Bound = 'max_calls' | 'calls_per_hour' | 'calls_per_day' | 'minutes_per_hour' | 'minutes_per_day';
/** A step for a bound that is set. */
const bound = (value: ConfText | null, step: (value: ConfText) => ConfText): readonly ConfText[] =>
  value === null ? [] : [step(value)];
/** Shortens LEFT to what remains of a budget of seconds. */
const shortened = (used: ConfText, budget: ConfText | null): readonly ConfText[] =>
  bound(
    budget,
    (b) => conf`Set(LOCAL(LEFT)=$\{IF($[${b} - ${used} < $\{LEFT}]?$[${b} - ${used}]:$\{LEFT})})`,
  );
/** The n-th limit of a class in its context: its variables and labels have this number. */
const numbered = (name: ConfText, n: number): ConfText =>
  conf`${name}${whole(n, 'a place of a limit', 0, 10_000)}`;
const kept = (n: number): ConfText => numbered(conf`KEPT`, n);

/** Numbers that begin with one of the countries, in each spelling. */
const countries = (l: SiteCallLimit): ConfText =>
  l.countries.length === 0
    ? nothing
    : context(
        conf`countries-${nameOf(l)}`,
        l.countries.flatMap((country) => {
          const digits = outside(country.replace('+', ''), `call limit ${l.name}: country`);
          return COUNTRY_SIGNS.map((sign) =>
            exten(conf`_${outside(sign, 'a sign')}${digits}!`, [conf`NoOp()`]),
          );
        }),
      );
/** ARG2 is the number as dialled, ARG3 the number as it is sent to the trunk. */
function countrySteps(l: SiteCallLimit, kind: RouteClass, otherwise: ConfText): readonly ConfText[] {
  if (l.countries.length === 0) return [];
  const known = (arg: ConfText): ConfText => conf`$\{DIALPLAN_EXISTS(countries-${nameOf(l)},$\{${arg}},1)}`;
  const abroad = (arg: ConfText): ConfText => conf`"$\{${arg}:0:1}" = "+" | "$\{${arg}:0:2}" = "00"`;
  const counts = conf`$[$\{PRIORITY} + 2]`;
  return [
    conf`GotoIf($[${known(conf`ARG2`)} | ${known(conf`ARG3`)}]?${counts})`,
    kind === 'international' || kind === 'premium'
      ? conf`Goto(${otherwise})`
      : conf`GotoIf($[${abroad(conf`ARG2`)} | ${abroad(conf`ARG3`)}]?${otherwise})`,
  ];
}
type RouteClass = (typeof ROUTE_CLASSES)[number];
/** Jumps over the steps of a limit that does not concern the extension in ARG1. */
const concerning = (l: SiteCallLimit, next: ConfText): readonly ConfText[] =>
  l.extensions.length === 0
    ? []
    : [conf`GotoIf($\{DIALPLAN_EXISTS(limited-${nameOf(l)},$\{ARG1},1)}?:${next})`];
/** Looks whether a limit permits one call more, and leaves its counter in the variable of this limit. */
function countSteps(l: SiteCallLimit, n: number): readonly ConfText[] {
  const over = [
    ...bound(most(l, 'calls_per_hour'), (b) => conf`${part(kept(n), 2)} >= ${b}`),
    ...bound(most(l, 'minutes_per_hour', MINUTE_S), (b) => conf`${part(kept(n), 3)} >= ${b}`),
    ...bound(most(l, 'calls_per_day'), (b) => conf`${part(kept(n), 4)} >= ${b}`),
    ...bound(most(l, 'minutes_per_day', MINUTE_S), (b) => conf`${part(kept(n), 5)} >= ${b}`),
  ];
  return [
    ...read(counterOf(l), kept(n)),
    ...bound(
      most(l, 'max_calls'),
      (b) =>
        conf`GotoIf($[$\{GROUP_COUNT(${ownerOf(l)}@limit-${nameOf(l)})} >= ${b}]?${numbered(conf`calls`, n)})`,
    ),
    ...over.map((one) => conf`GotoIf($[${one}]?${numbered(conf`budget`, n)})`),
  ];
}
const REASONS = ['hours', 'country', 'calls', 'budget'] as const;
/** Targets of the jumps of a limit, by reason. */
function refusals(
  l: SiteCallLimit,
  n: number,
  reasons: readonly (typeof REASONS)[number][],
): readonly ConfText[] {
  return reasons.flatMap((reason) => {
    const text = word(reason, 'a reason', REASONS);
    return [at(numbered(text, n), conf`Return(${text}:${nameOf(l)})`)];
  });
}
/**
 * Leaves `<reason>:<limit>` in GOSUB_RETVAL for a call that the limits of a class do not permit: ARG1 is the extension, ARG2 and
 * ARG3 the number as in `countrySteps`. The steps of all limits are one context, because each step and each Gosub costs time.
 */
function askContext(kind: RouteClass, own: readonly SiteCallLimit[], zone: ConfText): ConfText {
  return context(conf`limits-${word(kind, 'a class', ROUTE_CLASSES)}`, [
    exten(conf`s`, [
      hourSteps(zone),
      ...own.flatMap((l, n) => [
        ...concerning(l, numbered(conf`next`, n)),
        ...(l.hours === null
          ? []
          : [
              conf`Gosub(open-${slug(l.hours, `call limit ${l.name}: hours`)},s,1)`,
              conf`GotoIf($\{LEN($\{GOSUB_RETVAL})}?:${numbered(conf`hours`, n)})`,
            ]),
        ...countrySteps(l, kind, numbered(conf`country`, n)),
        ...countSteps(l, n),
        at(numbered(conf`next`, n), conf`NoOp()`),
      ]),
      conf`Return()`,
      ...own.flatMap((l, n) => refusals(l, n, REASONS)),
    ]),
  ]);
}
/**
 * Counts a call of the extension in ARG1 on the channel of the trunk, under the lock, for all limits of a class or none. Leaves
 * the reason in GOSUB_RETVAL where it is not permitted.
 */
function takeContext(kind: RouteClass, own: readonly SiteCallLimit[], zone: ConfText): ConfText {
  return context(conf`limits-take-${word(kind, 'a class', ROUTE_CLASSES)}`, [
    exten(conf`s`, [
      ...lock(conf`busy`),
      hourSteps(zone),
      ...own.flatMap((l, n) => [
        ...concerning(l, numbered(conf`next`, n)),
        ...countSteps(l, n),
        ...(l.extensions.length === 0 ? [] : [at(numbered(conf`next`, n), conf`NoOp()`)]),
      ]),
      ...own.flatMap((l, n) => takeSteps(l, n)),
      UNLOCK,
      conf`Return()`,
      ...own.flatMap((l, n) =>
        (['calls', 'budget'] as const).flatMap((reason) => [
          at(numbered(word(reason, 'a reason', REASONS), n), UNLOCK),
          conf`Return(${word(reason, 'a reason', REASONS)}:${nameOf(l)})`,
        ]),
      ),
      at(conf`busy`, conf`Return(busy)`),
    ]),
  ]);
}
function takeSteps(l: SiteCallLimit, n: number): readonly ConfText[] {
  const name = nameOf(l);
  const taken = numbered(conf`taken`, n);
  return [
    ...(l.extensions.length === 0 ? [] : [conf`GotoIf($\{LEN($\{${kept(n)}})}?:${taken})`]),
    conf`Set(GROUP(limit-${name})=${ownerOf(l)})`,
    conf`Set(LOCAL(LEFT)=${whole(l.max_minutes * MINUTE_S, `call limit ${name}: max_minutes`, 60, 86_400)})`,
    ...shortened(part(kept(n), 3), most(l, 'minutes_per_hour', MINUTE_S)),
    ...shortened(part(kept(n), 5), most(l, 'minutes_per_day', MINUTE_S)),
    conf`Set(DB(${counterOf(l)})=$\{HOUR}-$[${part(kept(n), 2)} + 1]-$[${part(kept(n), 3)} + $\{LEFT}]-$[${part(kept(n), 4)} + 1]-$[${part(kept(n), 5)} + $\{LEFT}])`,
    conf`Set(CHANNEL(hangup_handler_push)=limit-spent,s,1(${counterOf(l)},$\{HOUR},$\{LEFT}))`,
    conf`ExecIf($[0$\{OFFHOOK_LONGEST} = 0 | 0$\{OFFHOOK_LONGEST} > $\{LEFT}]?Set(OFFHOOK_LONGEST=$\{LEFT}))`,
    ...(l.extensions.length === 0 ? [] : [at(taken, conf`NoOp()`)]),
  ];
}
/** Returns what a call reserved and did not use: ARG1 is the counter, ARG2 the hour it belongs to, ARG3 the seconds. */
const GIVE_BACK = context(conf`limit-spent`, [
  exten(conf`s`, [
    conf`GotoIf($\{LEN($\{OFFHOOK_ANSWERED})}?answered)`,
    // Answered in a way that has no time: all that it reserved is spent.
    conf`GotoIf($["$\{CHANNEL(state)}" = "Up"]?over)`,
    conf`Set(LOCAL(BACK)=1)`,
    conf`Set(LOCAL(UNUSED)=$\{ARG3})`,
    conf`Goto(give)`,
    at(conf`answered`, conf`Set(LOCAL(BACK)=0)`),
    conf`Set(LOCAL(UNUSED)=$[$\{ARG3} - ($\{EPOCH} - $\{OFFHOOK_ANSWERED})])`,
    // A NoOp carries the label, because the first step of `lock` has none.
    at(conf`give`, conf`NoOp()`),
    ...lock(conf`over`),
    conf`Set(LOCAL(KEPT)=$\{DB($\{ARG1})})`,
    conf`GotoIf($["$\{KEPT:0:8}" = "$\{ARG2:0:8}"]?:free)`,
    conf`Set(LOCAL(HOURS)=$\{CUT(KEPT,-,2-3)})`,
    conf`ExecIf($["$\{KEPT:0:10}" = "$\{ARG2}"]?Set(LOCAL(HOURS)=$[${part(conf`KEPT`, 2)} - $\{BACK}]-$[${part(conf`KEPT`, 3)} - $\{UNUSED}]))`,
    conf`Set(DB($\{ARG1})=$\{KEPT:0:10}-$\{HOURS}-$[${part(conf`KEPT`, 4)} - $\{BACK}]-$[${part(conf`KEPT`, 5)} - $\{UNUSED}])`,
    at(conf`free`, UNLOCK),
    at(conf`over`, conf`Return()`),
  ]),
]);
/** Runs on the channel of the trunk when it is answered: the time that is counted begins. */
const answeredContext = (recorded: boolean): ConfText =>
  context(conf`outside-answered`, [
    exten(conf`s`, [
      conf`Set(OFFHOOK_ANSWERED=$\{EPOCH})`,
      conf`ExecIf($\{LEN($\{OFFHOOK_LONGEST})}?Set(TIMEOUT(absolute)=$\{OFFHOOK_LONGEST}))`,
      ...(recorded ? [conf`Gosub(recorded-answer,s,1)`] : []),
      conf`Return()`,
    ]),
  ]);

export interface LimitSteps {
  /** Leaves in OFFHOOK_REFUSED why a call of OFFHOOK_BY is not allowed; ARG2 to ARG4 as in `outside-asked`. */
  readonly ask: readonly ConfText[];
  /** Ends this channel of a trunk where its call is over a limit; ARG4 is the class, ARG5 the extension. */
  readonly take: readonly ConfText[];
  /** Options of a Dial over a trunk; `recorded` are those for recordings. */
  answered(recorded: ConfText): ConfText;
  readonly contexts: ConfText;
}
const NONE: LimitSteps = { ask: [], take: [], answered: (recorded) => recorded, contexts: nothing };
/** A site without limits has none of this in its files. */
export function limitSteps(plan: CallPlan, zone: string, recorded: boolean): LimitSteps {
  const limits = plan.site.call_limits;
  if (limits.length === 0) return NONE;
  for (const { name, hours } of limits)
    if (hours !== null && !plan.site.time_conditions.some((t) => t.name === hours))
      throw new ServiceError(
        'invalid_request',
        `call limit ${name}: there is no time condition ${JSON.stringify(hours)}`,
      );
  const classes = ROUTE_CLASSES.map((name) => ({
    name,
    own: limits.filter((l) => (l.classes as readonly string[]).includes(name)),
  })).filter(({ own }) => own.length > 0);
  const inZone = timeZone(zone, 'the zone');
  return {
    ask: [
      conf`GotoIf($\{DIALPLAN_EXISTS(limits-$\{ARG2},s,1)}?:may)`,
      conf`Gosub(limits-$\{ARG2},s,1($\{OFFHOOK_BY},$\{ARG3},$\{ARG4}))`,
      conf`ExecIf($\{LEN($\{GOSUB_RETVAL})}?Set(OFFHOOK_REFUSED=$\{GOSUB_RETVAL}:$\{ARG2}))`,
      conf`GotoIf($\{LEN($\{OFFHOOK_REFUSED})}?refused)`,
    ],
    take: [
      conf`GotoIf($["$\{ARG4}" = ""]?free)`,
      conf`GotoIf($\{DIALPLAN_EXISTS(limits-take-$\{ARG4},s,1)}?:free)`,
      conf`Gosub(limits-take-$\{ARG4},s,1($\{ARG5}))`,
      conf`ExecIf($\{LEN($\{GOSUB_RETVAL})}?SoftHangup($\{CHANNEL}))`,
      at(conf`free`, conf`NoOp()`),
    ],
    answered: () => conf`U(outside-answered)`,
    contexts: joined(
      [
        ...limits.map(countries),
        ...limits
          .filter((l) => l.extensions.length > 0)
          .map((l) =>
            context(
              conf`limited-${nameOf(l)}`,
              l.extensions.map((e) => exten(dialled(e, `call limit ${l.name}: extension`), [conf`NoOp()`])),
            ),
          ),
        ...classes.flatMap(({ name, own }) => [
          askContext(name, own, inZone),
          takeContext(name, own, inZone),
        ]),
        WAIT,
        GIVE_BACK,
        answeredContext(recorded),
      ],
      '',
    ),
  };
}
