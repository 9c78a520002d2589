/**
 * Open or closed, decided by the engine when the call is there. The moment is read once, in the site's zone, so that a call
 * at the turn of a minute is not both: `<weekday, 1 for Monday>-<YYYYMMDD>-<HHMM>`.
 */
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import { ServiceError } from '../../../core/errors.ts';
import { leadsTo } from '../../../routing/plan.ts';
import type { CallPlan } from '../../../routing/plan.ts';
import type { Opening } from '../../../routing/site-time.ts';
import { counted, destinationSteps } from './destinations.ts';
import { at, context, exten } from './dialplan-text.ts';
import { switchSteps, switched } from './switch-contexts.ts';
import { clock, conf, joined, slug, timeZone, whole, word } from './text.ts';
import type { ConfText } from './text.ts';

type TimeCondition = ConfigBody<'time_condition'>;
type Hours = TimeCondition['hours'][number];
const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
/** In place of now where it is set, in seconds since 1970. */
const NOW = conf`$\{OFFHOOK_AT}`;
const WEEKDAY = conf`$\{OFFHOOK_CLOCK:0:1}`;
const DATE = conf`$\{OFFHOOK_CLOCK:2:8}`;
const TIME = conf`$\{OFFHOOK_CLOCK:11}`;
const MIDNIGHT = conf`2400`;

/** Days as the digits of their numbers, `later` days on. */
function weekdays(days: Hours['days'], what: string, later: 0 | 1): ConfText {
  const numbers = new Set(
    days.map((d) => ((DAYS.indexOf(word(d, `${what}: day`, DAYS) as Hours['days'][number]) + later) % 7) + 1),
  );
  return joined(
    [...numbers].sort((a, b) => a - b).map((n) => whole(n, what, 1, 7)),
    '',
  );
}
const within = (days: ConfText, from: ConfText, to: ConfText): ConfText =>
  conf`GotoIf($[$\{REGEX("[${days}]" ${WEEKDAY})} & ${TIME} >= ${from} & ${TIME} < ${to}]?open)`;
function hours(h: Hours, what: string): readonly ConfText[] {
  const [from, to] = [clock(h.from, `${what}: from`), clock(h.to, `${what}: to`)];
  if (from === to || from === MIDNIGHT)
    throw new ServiceError('invalid_request', `${what}: ${h.from} to ${h.to} is not a period`);
  if (to > from) return [within(weekdays(h.days, what, 0), from, to)];
  return [
    within(weekdays(h.days, what, 0), from, MIDNIGHT),
    within(weekdays(h.days, what, 1), conf`0000`, to),
  ];
}

/** The steps of each state of a time condition. */
type OpeningSteps = Readonly<Record<Opening['is'], readonly ConfText[]>>;
function openingSteps(
  t: TimeCondition,
  { site }: CallPlan,
  zone: ConfText,
  { open, closed, holiday }: OpeningSteps,
): readonly ConfText[] {
  const what = `time condition ${slug(t.name, 'the name of a time condition')}`;
  for (const key of t.holidays)
    if (!site.holidays.some((h) => h.name === key))
      throw new ServiceError('invalid_request', `${what}: there are no holidays ${JSON.stringify(key)}`);
  const switching = switchSteps(t, site);
  /** The side of the configuration, and the other one where a phone switched to it. */
  const fixed = (side: readonly ConfText[], other: readonly ConfText[]): readonly ConfText[] =>
    switching.length === 0
      ? side
      : [
          ...switching,
          at(side === open ? conf`open` : conf`closed`, conf`NoOp()`),
          ...side,
          at(side === open ? conf`closed` : conf`open`, conf`NoOp()`),
          ...other,
        ];
  const steps: Record<TimeCondition['override'], () => readonly ConfText[]> = {
    open: () => fixed(open, closed),
    closed: () => fixed(closed, open),
    none: () => [
      ...switching,
      conf`Set(OFFHOOK_CLOCK=$\{STRFTIME(${NOW},${zone},%u-%Y%m%d-%H%M)})`,
      ...t.holidays.map(
        (h) => conf`GotoIf($\{DIALPLAN_EXISTS(days-${slug(h, `${what}: holidays`)},${DATE},1)}?holiday)`,
      ),
      ...t.hours.flatMap((h) => hours(h, `${what}: hours`)),
      ...(switching.length === 0 ? [] : [at(conf`closed`, conf`NoOp()`)]),
      ...closed,
      at(conf`open`, conf`NoOp()`),
      ...open,
      at(conf`holiday`, conf`NoOp()`),
      ...holiday,
    ],
  };
  return steps[
    word(t.override, `${what}: override`, ['none', 'open', 'closed'] as const) as TimeCondition['override']
  ]();
}
function timeCondition(t: TimeCondition, plan: CallPlan, zone: ConfText): ConfText {
  const name = slug(t.name, 'the name of a time condition');
  const what = `time condition ${name}`;
  const to = leadsTo(t);
  const steps = openingSteps(t, plan, zone, {
    open: destinationSteps(to.open, plan, `${what}: when open`),
    closed: destinationSteps(to.closed, plan, `${what}: when closed`),
    holiday: destinationSteps(to.holiday, plan, `${what}: on a holiday`),
  });
  return context(conf`time-${name}`, [exten(conf`s`, [...counted, ...steps])]);
}
/** `Gosub(open-<name>,s,1)` leaves 1 in GOSUB_RETVAL while the time condition is open, else nothing. */
const openContext = (t: TimeCondition, plan: CallPlan, zone: string): ConfText =>
  context(conf`open-${slug(t.name, 'the name of a time condition')}`, [
    exten(
      conf`s`,
      openingSteps(t, plan, timeZone(zone, 'the zone'), {
        open: [conf`Return(1)`],
        closed: [conf`Return()`],
        holiday: [conf`Return()`],
      }),
    ),
  ]);

/** Each day is a number `YYYYMMDD`, or for every year a pattern of it. */
function holidays(h: ConfigBody<'holidays'>): ConfText {
  const name = slug(h.name, 'the name of holidays');
  const two = (n: number, what: string, most: number): ConfText =>
    conf`${n < 10 ? conf`0` : conf``}${whole(n, `holidays ${name}: ${what}`, 1, most)}`;
  const days = new Set(
    h.days.map(({ year, month, day }) => {
      const rest = conf`${two(month, 'month', 12)}${two(day, 'day', 31)}`;
      return year === null
        ? conf`_XXXX${rest}`
        : conf`${whole(year, `holidays ${name}: year`, 2000, 2100)}${rest}`;
    }),
  );
  return context(
    conf`days-${name}`,
    [...days].sort().map((d) => exten(d, [conf`NoOp()`])),
  );
}

export function timeContexts(plan: CallPlan, zone: string): ConfText {
  const { call_limits } = plan.site;
  const asked = new Set([
    ...switched(plan.site).map(({ name }) => name),
    ...call_limits.flatMap(({ hours: of }) => of ?? []),
  ]);
  return joined(
    [
      ...plan.site.time_conditions.map((t) => timeCondition(t, plan, timeZone(zone, 'the zone'))),
      ...plan.site.holidays.map(holidays),
      ...plan.site.time_conditions.filter((t) => asked.has(t.name)).map((t) => openContext(t, plan, zone)),
    ],
    '',
  );
}
