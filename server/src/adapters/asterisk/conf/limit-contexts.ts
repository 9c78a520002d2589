/**
 * Limits of calls to numbers outside, kept by the engine alone, so that they hold while the service is down. A call is asked
 * before it goes out (`ask`), and counted on the channel of the trunk, which lives as long as the call costs money: after a
 * transfer too. Count and check are one step under a lock, so that two calls at one moment cannot both be the last that is allowed.
 */
import type { SiteCallLimit } from '../../../ports/site.ts';
import { ROUTE_CLASSES } from '@offhook/contract/config-objects.ts';
import { ServiceError } from '../../../core/errors.ts';
import { COUNTRY_SIGNS } from '../../../routing/plan.ts';
import type { CallPlan } from '../../../routing/plan.ts';
import { at, context, exten } from './dialplan-text.ts';
import { conf, dialled, joined, outside, slug, timeZone, whole, word } from './text.ts';
import type { ConfText } from './text.ts';

const nothing = conf``;
const EXTEN = conf`$\{EXTEN}`;
const MINUTE_S = 60;
/** Store of the counters: `offhook-spent/<limit>/<extension>`. */
const SPENT = conf`offhook-spent`;
/** Counter shared by all extensions of a limit. */
const SHARED = conf`shared`;
/**
 * A counter is `<YYYYMMDDHH>-<calls of the hour>-<seconds of the hour>-<calls of the day>-<seconds of the day>`: one value, so
 * that it is always written whole. Counts of another hour or day are 0.
 */
const READ = (counter: ConfText): readonly ConfText[] => [
  conf`Set(LOCAL(KEPT)=$\{DB(${counter})})`,
  conf`Set(LOCAL(HC)=$\{IF($["$\{CUT(KEPT,-,1)}" = "$\{HOUR}"]?$\{CUT(KEPT,-,2)}:0)})`,
  conf`Set(LOCAL(HS)=$\{IF($["$\{CUT(KEPT,-,1)}" = "$\{HOUR}"]?$\{CUT(KEPT,-,3)}:0)})`,
  conf`Set(LOCAL(DC)=$\{IF($["$\{KEPT:0:8}" = "$\{HOUR:0:8}"]?$\{CUT(KEPT,-,4)}:0)})`,
  conf`Set(LOCAL(DS)=$\{IF($["$\{KEPT:0:8}" = "$\{HOUR:0:8}"]?$\{CUT(KEPT,-,5)}:0)})`,
];
const lock = (otherwise: ConfText): ConfText => conf`GotoIf($\{LOCK(call-limits)}?:${otherwise})`;
const UNLOCK = conf`Set(LOCAL(FREED)=$\{UNLOCK(call-limits)})`;

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
/** ARG3 is the number as dialled, ARG4 as the trunk is given it. */
function countrySteps(l: SiteCallLimit): readonly ConfText[] {
  if (l.countries.length === 0) return [];
  const known = (arg: ConfText): ConfText => conf`$\{DIALPLAN_EXISTS(countries-${nameOf(l)},${arg},1)}`;
  const abroad = (arg: ConfText): ConfText => conf`"$\{${arg}:0:1}" = "+" | "$\{${arg}:0:2}" = "00"`;
  return [
    conf`GotoIf($[${known(conf`$\{ARG3}`)} | ${known(conf`$\{ARG4}`)}]?counts)`,
    conf`GotoIf($["$\{ARG2}" = "international" | "$\{ARG2}" = "premium" | ${abroad(conf`ARG3`)} | ${abroad(conf`ARG4`)}]?country)`,
  ];
}
const refused = (reason: ConfText, l: SiteCallLimit): ConfText =>
  at(reason, conf`Return(${reason}:${nameOf(l)})`);

/**
 * Leaves `<reason>:<limit>` in GOSUB_RETVAL for a call that is not allowed. ARG1 `ask` looks at the whole call, `again` only at
 * the counts, `take` counts it on this channel. ARG2 is the class.
 */
function limitContext(l: SiteCallLimit, zone: ConfText): ConfText {
  const name = nameOf(l);
  const counter = conf`${SPENT}/${name}/$\{OF}`;
  const hours = l.hours === null ? null : slug(l.hours, `call limit ${name}: hours`);
  return context(conf`limit-${name}`, [
    exten(conf`_X.`, [
      conf`Set(LOCAL(OF)=${l.shared ? SHARED : EXTEN})`,
      conf`GotoIf($["$\{ARG1}" = "ask"]?:counts)`,
      ...(hours === null
        ? []
        : [conf`Gosub(open-${hours},s,1)`, conf`GotoIf($\{LEN($\{GOSUB_RETVAL})}?:hours)`]),
      ...countrySteps(l),
      at(conf`counts`, conf`Set(LOCAL(HOUR)=$\{STRFTIME(,${zone},%Y%m%d%H)})`),
      ...READ(counter),
      conf`Set(LOCAL(LEFT)=${whole(l.max_minutes * MINUTE_S, `call limit ${name}: max_minutes`, 60, 86_400)})`,
      ...shortened(conf`$\{HS}`, most(l, 'minutes_per_hour', MINUTE_S)),
      ...shortened(conf`$\{DS}`, most(l, 'minutes_per_day', MINUTE_S)),
      conf`GotoIf($["$\{ARG1}" = "take"]?take)`,
      ...bound(
        most(l, 'max_calls'),
        (n) => conf`GotoIf($[$\{GROUP_COUNT($\{OF}@limit-${name})} >= ${n}]?calls)`,
      ),
      ...bound(most(l, 'calls_per_hour'), (n) => conf`GotoIf($[$\{HC} >= ${n}]?budget)`),
      ...bound(most(l, 'calls_per_day'), (n) => conf`GotoIf($[$\{DC} >= ${n}]?budget)`),
      conf`GotoIf($[$\{LEFT} < 1]?budget)`,
      conf`Return()`,
      at(conf`take`, conf`Set(GROUP(limit-${name})=$\{OF})`),
      conf`Set(DB(${counter})=$\{HOUR}-$[$\{HC} + 1]-$[$\{HS} + $\{LEFT}]-$[$\{DC} + 1]-$[$\{DS} + $\{LEFT}])`,
      conf`Set(CHANNEL(hangup_handler_push)=limit-spent,s,1(${counter},$\{HOUR},$\{LEFT}))`,
      conf`ExecIf($[0$\{OFFHOOK_LONGEST} = 0 | 0$\{OFFHOOK_LONGEST} > $\{LEFT}]?Set(OFFHOOK_LONGEST=$\{LEFT}))`,
      conf`Return()`,
      ...(hours === null ? [] : [refused(conf`hours`, l)]),
      ...(l.countries.length === 0 ? [] : [refused(conf`country`, l)]),
      ...bound(most(l, 'max_calls'), () => refused(conf`calls`, l)),
      refused(conf`budget`, l),
    ]),
  ]);
}
/** Returns what a call reserved and did not use: ARG1 is the counter, ARG2 the hour it belongs to, ARG3 the seconds. */
const GIVE_BACK = context(conf`limit-spent`, [
  exten(conf`s`, [
    conf`Set(LOCAL(BACK)=0)`,
    conf`Set(LOCAL(UNUSED)=$[$\{ARG3} - ($\{EPOCH} - 0$\{OFFHOOK_ANSWERED})])`,
    conf`GotoIf($\{LEN($\{OFFHOOK_ANSWERED})}?give)`,
    // Answered in a way that has no time: all that it reserved is spent.
    conf`GotoIf($["$\{CHANNEL(state)}" = "Up"]?over)`,
    conf`Set(LOCAL(BACK)=1)`,
    conf`Set(LOCAL(UNUSED)=$\{ARG3})`,
    at(conf`give`, lock(conf`over`)),
    conf`Set(LOCAL(HOUR)=$\{ARG2})`,
    ...READ(conf`$\{ARG1}`),
    conf`GotoIf($["$\{CUT(KEPT,-,1)}" = "$\{HOUR}"]?:day)`,
    conf`Set(LOCAL(HC)=$[$\{HC} - $\{BACK}])`,
    conf`Set(LOCAL(HS)=$[$\{HS} - $\{UNUSED}])`,
    conf`Goto(keep)`,
    at(conf`day`, conf`GotoIf($["$\{KEPT:0:8}" = "$\{HOUR:0:8}"]?:free)`),
    conf`Set(LOCAL(HC)=$\{CUT(KEPT,-,2)})`,
    conf`Set(LOCAL(HS)=$\{CUT(KEPT,-,3)})`,
    at(
      conf`keep`,
      conf`Set(DB($\{ARG1})=$\{CUT(KEPT,-,1)}-$\{HC}-$\{HS}-$[$\{DC} - $\{BACK}]-$[$\{DS} - $\{UNUSED}])`,
    ),
    at(conf`free`, UNLOCK),
    at(conf`over`, conf`Return()`),
  ]),
]);
/** Counts a call of this extension on the channel of the trunk; ARG1 is the class. Leaves the reason where it is not allowed. */
const TAKE = context(conf`limits-take`, [
  exten(conf`_X.`, [
    lock(conf`busy`),
    conf`Gosub(limits-$\{ARG1},${EXTEN},1(again))`,
    conf`Set(LOCAL(SAID)=$\{GOSUB_RETVAL})`,
    conf`ExecIf($\{LEN($\{SAID})}?NoOp():Gosub(limits-$\{ARG1},${EXTEN},1(take)))`,
    UNLOCK,
    conf`Return($\{SAID})`,
    at(conf`busy`, conf`Return(busy)`),
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
const concerned = (number: ConfText, kind: ConfText): ConfText =>
  conf`$\{DIALPLAN_EXISTS(limits-${kind},${number},1)}`;

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
  const ofClass = (name: (typeof ROUTE_CLASSES)[number]): ConfText => {
    const own = limits.filter((l) => (l.classes as readonly string[]).includes(name));
    if (own.length === 0) return nothing;
    const steps = own.flatMap((l, i) => [
      ...(l.extensions.length === 0
        ? []
        : [
            conf`GotoIf($\{DIALPLAN_EXISTS(limited-${nameOf(l)},${EXTEN},1)}?:$[$\{PRIORITY} + ${whole(3, 'steps', 1, 9)}])`,
          ]),
      conf`Gosub(limit-${nameOf(l)},${EXTEN},1($\{ARG1},${word(name, 'a class', ROUTE_CLASSES)},$\{ARG2},$\{ARG3}))`,
      conf`GotoIf($\{LEN($\{GOSUB_RETVAL})}?refused)`,
      ...(i + 1 === own.length ? [conf`Return()`] : []),
    ]);
    return context(conf`limits-${word(name, 'a class', ROUTE_CLASSES)}`, [
      exten(conf`_X.`, [...steps, at(conf`refused`, conf`Return($\{GOSUB_RETVAL})`)]),
    ]);
  };
  return {
    ask: [
      conf`GotoIf(${concerned(conf`$\{OFFHOOK_BY}`, conf`$\{ARG2}`)}?:may)`,
      conf`Gosub(limits-$\{ARG2},$\{OFFHOOK_BY},1(ask,$\{ARG3},$\{ARG4}))`,
      conf`ExecIf($\{LEN($\{GOSUB_RETVAL})}?Set(OFFHOOK_REFUSED=$\{GOSUB_RETVAL}:$\{ARG2}))`,
      conf`GotoIf($\{LEN($\{OFFHOOK_REFUSED})}?refused)`,
    ],
    take: [
      conf`GotoIf($["$\{ARG4}" = ""]?free)`,
      conf`GotoIf(${concerned(conf`$\{ARG5}`, conf`$\{ARG4}`)}?:free)`,
      conf`Gosub(limits-take,$\{ARG5},1($\{ARG4}))`,
      conf`ExecIf($\{LEN($\{GOSUB_RETVAL})}?SoftHangup($\{CHANNEL}))`,
      at(conf`free`, conf`NoOp()`),
    ],
    answered: () => conf`U(outside-answered)`,
    contexts: joined(
      [
        ...limits.map((l) => limitContext(l, timeZone(zone, 'the zone'))),
        ...limits.map(countries),
        ...limits
          .filter((l) => l.extensions.length > 0)
          .map((l) =>
            context(
              conf`limited-${nameOf(l)}`,
              l.extensions.map((e) => exten(dialled(e, `call limit ${l.name}: extension`), [conf`NoOp()`])),
            ),
          ),
        ...ROUTE_CLASSES.map(ofClass),
        TAKE,
        GIVE_BACK,
        answeredContext(recorded),
      ],
      '',
    ),
  };
}
