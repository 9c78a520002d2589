/** Inbound and outbound routes as dialplan, in the order of routing/routes.ts, not by the engine's closest pattern. */
import { MOST_ALIKE } from '../../../routing/causes.ts';
import { isEmergency, mayCall } from '../../../routing/plan.ts';
import type { CallPlan } from '../../../routing/plan.ts';
import { inboundOrder, outboundLayers } from '../../../routing/routes.ts';
import type {
  NumberChange,
  Site,
  SiteInboundRoute,
  SiteOutboundRoute,
  SiteTrunk,
} from '../../../ports/site.ts';
import { EMERGENCY, REFUSED as REFUSED_RECORD } from './cel-format.ts';
import { callingPhone } from './call-contexts.ts';
import { findCustomer, ownerFirst } from './customer-contexts.ts';
import { destinationSteps } from './destinations.ts';
import { at, cause, context, exten, hangUp, isNumber } from './dialplan-text.ts';
import { routeLanguage } from './language-contexts.ts';
import { limitSteps } from './limit-contexts.ts';
import type { LimitSteps } from './limit-contexts.ts';
import { NOTHING as UNRECORDED } from './recording-contexts.ts';
import type { RecordingSteps } from './recording-contexts.ts';
import { personOfPhone } from './shared-phone-contexts.ts';
import {
  conf,
  dialled,
  joined,
  language,
  loginName,
  outside,
  outsidePattern,
  slug,
  whole,
  word,
} from './text.ts';
import type { ConfText } from './text.ts';
import { arrivals, endpointOf, serversOf, trunksAt } from './trunk-files.ts';
import { ROUTE_CLASSES } from '@offhook/contract/config-fields.ts';

const nothing = conf``;
const EXTEN = conf`$\{EXTEN}`;
const include = (name: ConfText): ConfText => conf`include => ${name}
`;
/** All numbers that a trunk may send; a call to anything else is rejected. */
const ANY_NUMBER = conf`_[+0-9*#]!`;
const ALIKE = whole(MOST_ALIKE, 'most calls alike', 1, 1000);

const number = (i: number): ConfText => whole(i, 'a place in a list', 0, 1_000_000);
const classOf = (name: string, what: string): ConfText =>
  word(name as never, `${what}: class`, ROUTE_CLASSES);
const ownNumber = (t: SiteTrunk): ConfText | null =>
  t.outbound_number === null ? null : outside(t.outbound_number, `trunk ${t.name}: number`);
const changed = ({ strip, prepend }: NumberChange, what: string): ConfText =>
  conf`${prepend === '' ? nothing : outside(prepend, `${what}: prepend`)}$\{EXTEN:${whole(strip, `${what}: strip`, 0, 32)}}`;
const mostOf = (t: SiteTrunk): ConfText =>
  t.max_calls === null ? conf`0` : whole(t.max_calls, `trunk ${t.name}: most calls`, 1, 10_000);

/**
 * A trunk or server that neither rings nor refuses within this time is skipped if there is another one. The engine would wait 32 s
 * for one that failed after its last OPTIONS. A call abroad usually rings within 11 s (ITU-T E.721: 95 %). ADR 0046 has the reasons
 * against a SIP timer.
 */
const PATIENCE = whole(12, 'patience with a trunk', 1, 60);
const PATIENCE_FOR_HELP = whole(5, 'patience during a call for help', 1, 60);
interface Way {
  /** Number that is shown. */
  readonly shown: ConfText;
  readonly most: ConfText;
  readonly kind?: ConfText;
  /** Longest time until the trunk rings or refuses. */
  readonly patience?: ConfText;
  /** Another trunk follows; an expression where that is known only during the call. */
  readonly more?: boolean | ConfText;
  /** Also sends the call to servers that do not answer OPTIONS. */
  readonly anyway?: boolean;
}
/**
 * Sets the caller number shown to the called side only, so that the call records keep the real caller. Option i: redirects
 * (3xx) by the trunk are not followed.
 */
const dial = (
  t: SiteTrunk,
  to: ConfText,
  { shown, most, kind = nothing, patience = PATIENCE, more = false, anyway = false }: Way,
  options: ConfText,
): readonly ConfText[] => {
  const servers = serversOf(t);
  const ways = servers.map(({ name, uri }, i) => {
    const server = servers.length === 1 ? nothing : conf`/${name}`;
    // The engine checks the state of a server only if it is dialled by its name.
    const target = anyway ? conf`${endpointOf(t)}/sip:${to}@${uri}` : conf`${to}@${endpointOf(t)}${server}`;
    const follows = more === true || i + 1 < servers.length;
    const limit = follows
      ? conf`^${patience}`
      : more === false
        ? nothing
        : conf`$\{IF(${more}?^${patience}:)}`;
    return conf`Dial(PJSIP/${target},${limit},i${callingPhone}b(over-trunk^s^1(${endpointOf(t)}^${most}^${shown}^${kind}^$\{OFFHOOK_BY}))${options})`;
  });
  return ways.flatMap((way, i) => {
    const left = ways.length - i - 1;
    return [
      ...(ways.length === 1 ? [] : [conf`HangupCauseClear()`]),
      way,
      // If this server accepted or refused the call, the remaining servers of the trunk are skipped.
      ...(left === 0
        ? []
        : [
            conf`Gosub(next-server,s,1)`,
            conf`GotoIf($\{LEN($\{GOSUB_RETVAL})}?:$[$\{PRIORITY} + ${number(4 * left - 1)}])`,
          ]),
    ];
  });
};
/**
 * Runs on the trunk's channel before it dials. The count includes this channel, so that two simultaneous calls cannot both
 * be the last that is allowed.
 */
const overTrunk = ({ take }: LimitSteps): ConfText =>
  context(conf`over-trunk`, [
    exten(conf`s`, [
      conf`Set(GROUP(calls)=$\{ARG1})`,
      conf`ExecIf($[$\{ARG2} > 0 & $\{GROUP_COUNT($\{ARG1}@calls)} > $\{ARG2}]?SoftHangup($\{CHANNEL}))`,
      ...take,
      conf`ExecIf($\{LEN($\{ARG3})}?Set(CONNECTEDLINE(all,i)=<$\{ARG3}>))`,
      conf`Return()`,
    ]),
  ]);
const full = (t: SiteTrunk, next: ConfText): readonly ConfText[] =>
  t.max_calls === null
    ? []
    : [conf`GotoIf($[$\{GROUP_COUNT(${endpointOf(t)}@calls)} >= ${mostOf(t)}]?${next})`];
/** Returns 1 if the next trunk is to be tried: this one could not carry the call. A refusal by the called side ends the call. */
const NEXT_TRUNK = context(conf`next-trunk`, [
  exten(conf`s`, [
    conf`GotoIf($["$\{DIALSTATUS}" = "CHANUNAVAIL" | "$\{DIALSTATUS}" = "CONGESTION"]?:over)`,
    conf`GotoIf($\{LEN($\{HANGUPCAUSE_KEYS()})}?:next)`,
    conf`GotoIf($\{REGEX("^SIP (404|410|484|6)" $\{HANGUPCAUSE($\{HANGUPCAUSE_KEYS()},tech)})}?over)`,
    at(conf`next`, conf`Return(1)`),
    at(conf`over`, conf`Return()`),
  ]),
]);
/** A trunk that accepted the request, and did not ring in time. */
const SLOW = conf`slow`;
/**
 * Returns a text if the next server of the same trunk is to be tried: this one did not answer or ring in time, or answered that it
 * is out of order. An unanswered call has a SIP answer and ends here. A call for help later dials such a trunk once more.
 */
const NEXT_SERVER = context(conf`next-server`, [
  exten(conf`s`, [
    conf`GotoIf($["$\{DIALSTATUS}" = "CHANUNAVAIL" | "$\{DIALSTATUS}" = "CONGESTION" | "$\{DIALSTATUS}" = "NOANSWER"]?:over)`,
    conf`GotoIf($\{LEN($\{HANGUPCAUSE_KEYS()})}?:next)`,
    conf`GotoIf($\{REGEX("^SIP 100" $\{HANGUPCAUSE($\{HANGUPCAUSE_KEYS()},tech)})}?slow)`,
    conf`GotoIf($\{REGEX("^SIP (408|5)" $\{HANGUPCAUSE($\{HANGUPCAUSE_KEYS()},tech)})}?:over)`,
    at(conf`next`, conf`Return(1)`),
    at(conf`slow`, conf`Return(${SLOW})`),
    at(conf`over`, conf`Return()`),
  ]),
]);
const NEXT: readonly ConfText[] = [
  conf`Gosub(next-trunk,s,1)`,
  conf`GotoIf($\{LEN($\{GOSUB_RETVAL})}?:over)`,
];
/** A carrier may refuse emergency numbers, mostly as unknown: the next trunk may carry such a call. */
const NEXT_FOR_HELP = conf`GotoIf($\{REGEX("^(BUSY|ANSWER)$" $\{DIALSTATUS})}?over)`;
const OVER = conf`Hangup($\{IF($["0$\{HANGUPCAUSE}" = "00"]?${cause('full')}:$\{HANGUPCAUSE})})`;

/**
 * Finds the extension responsible for an outbound call: the one that forwards, transfers or dials, never by caller ID. Sets
 * OFFHOOK_BY to the extension, OFFHOOK_OWN to its number shown outside and OFFHOOK_CHOSEN to a number chosen by the API. Returns
 * the cause of a refusal, or nothing if the call is allowed; its reason is then in OFFHOOK_REFUSED. ARG1 is the context, ARG2
 * the class, ARG3 the number as dialled, ARG4 as the first trunk is given it.
 */
const asked = ({ ask }: LimitSteps, site: Site): ConfText =>
  context(conf`outside-asked`, [
    exten(conf`s`, [
      conf`Set(OFFHOOK_REFUSED=)`,
      conf`Set(OFFHOOK_BY=$\{IF($["$\{OFFHOOK_EXTENSION}" = ""]?$\{OFFHOOK_CONSULT}:$\{OFFHOOK_EXTENSION})})`,
      conf`GotoIf($["$\{ARG1}" = "forwarded-out"]?forwarded)`,
      conf`GotoIf($\{LEN($\{BLINDTRANSFER})}?:asked)`,
      conf`Set(OFFHOOK_OTHER=$\{CUT(BLINDTRANSFER,/,2)})`,
      conf`Set(OFFHOOK_OTHER=$\{CUT(OFFHOOK_OTHER,-,1)})`,
      ...personOfPhone(site),
      conf`ExecIf($\{REGEX("^[0-9]+$" $\{OFFHOOK_OTHER})}?Set(OFFHOOK_BY=$\{OFFHOOK_OTHER}))`,
      conf`Goto(asked)`,
      at(conf`forwarded`, conf`Set(OFFHOOK_BY=$\{OFFHOOK_FORWARDER})`),
      conf`Set(GROUP(alike)=$\{OFFHOOK_BY}-$\{ARG3})`,
      conf`GotoIf($[$\{GROUP_COUNT($\{OFFHOOK_BY}-$\{ARG3}@alike)} > ${ALIKE}]?circle)`,
      at(conf`asked`, conf`Set(OFFHOOK_CHOSEN=)`),
      conf`Set(OFFHOOK_OWN=)`,
      conf`ExecIf($["$\{OFFHOOK_BY}" = "$\{OFFHOOK_FOR}" & "$\{OFFHOOK_FROM}" != "$\{OFFHOOK_FOR}"]?Set(OFFHOOK_CHOSEN=$\{OFFHOOK_FROM}))`,
      conf`GotoIf($["$\{ARG2}" = "emergency"]?may)`,
      conf`GotoIf($["$\{REGEX("^[0-9]+$" $\{OFFHOOK_BY})}" = "1"]?:forbidden)`,
      conf`GotoIf($\{DIALPLAN_EXISTS(not-$\{ARG2},$\{OFFHOOK_BY},1)}?forbidden)`,
      ...ask,
      at(conf`may`, conf`GotoIf($\{DIALPLAN_EXISTS(shown-as,$\{OFFHOOK_BY},1)}?:known)`),
      conf`Gosub(shown-as,$\{OFFHOOK_BY},1)`,
      conf`Set(OFFHOOK_OWN=$\{GOSUB_RETVAL})`,
      at(conf`known`, conf`Return()`),
      at(conf`forbidden`, conf`Set(OFFHOOK_REFUSED=class::$\{ARG2})`),
      at(conf`refused`, conf`Return(${cause('rejected')})`),
      at(conf`circle`, conf`Return(${cause('circle')})`),
    ]),
  ]);
/** Refusals that are played to one extension at the same time; a flood of attempts must not use up the media ports. */
const SPOKEN = whole(2, 'refusals spoken at once', 1, 100);
/** Speaks why a call does not go out, before it is answered, and ends it with the cause in GOSUB_RETVAL. */
const REFUSED = context(conf`outside-refused`, [
  exten(ANY_NUMBER, [
    conf`GotoIf($\{LEN($\{OFFHOOK_REFUSED})}?:over)`,
    conf`CELGenUserEvent(${REFUSED_RECORD},$\{OFFHOOK_REFUSED}:$\{OFFHOOK_BY})`,
    conf`Set(GROUP(refused)=$\{OFFHOOK_BY})`,
    conf`GotoIf($[$\{GROUP_COUNT($\{OFFHOOK_BY}@refused)} > ${SPOKEN}]?over)`,
    conf`Set(OFFHOOK_REASON=$\{CUT(OFFHOOK_REFUSED,:,1)})`,
    conf`Progress()`,
    conf`GotoIf($["$\{OFFHOOK_REASON}" = "calls"]?calls)`,
    conf`GotoIf($["$\{OFFHOOK_REASON}" = "budget" | "$\{OFFHOOK_REASON}" = "hours"]?later)`,
    conf`Playback(feature-not-avail-line,noanswer)`,
    conf`Goto(over)`,
    at(conf`later`, conf`Playback(please-try-call-later,noanswer)`),
    conf`Goto(over)`,
    at(conf`calls`, conf`Playback(simul-call-limit-reached,noanswer)`),
    at(conf`over`, conf`Hangup($\{GOSUB_RETVAL})`),
  ]),
]);
/** Writes a call for help into the call records; ARG1 is the number shown. The service names the location. */
const FOR_HELP = context(conf`for-help`, [
  exten(ANY_NUMBER, [
    conf`Set(LOCAL(AT)=)`,
    conf`GotoIf($["$\{CHANNEL(channeltype)}" = "PJSIP"]?:known)`,
    conf`Set(LOCAL(AT)=$\{CHANNEL(pjsip,remote_addr)})`,
    at(conf`known`, conf`CELGenUserEvent(${EMERGENCY},$\{OFFHOOK_BY}:$\{ARG1}:$\{AT}:$\{OFFHOOK_PHONE})`),
    conf`Return()`,
  ]),
]);
/** Number that a trunk shows for a call by one of our extensions: also the one that is called back after a call for help. */
function usuallyShown(t: SiteTrunk): ConfText {
  const trunks = ownNumber(t) ?? conf`$\{OFFHOOK_BY}`;
  return t.show_extensions ? conf`$\{IF($\{LEN($\{OFFHOOK_OWN})}?$\{OFFHOOK_OWN}:${trunks})}` : trunks;
}
const shownOver = (t: SiteTrunk): ConfText =>
  conf`$\{IF($\{LEN($\{OFFHOOK_CHOSEN})}?$\{OFFHOOK_CHOSEN}:${usuallyShown(t)})}`;

/**
 * Steps of a call for help over the trunks of a route. If none of them carried the call, those that were skipped or did not answer
 * are dialled once more, with more patience and regardless of their state: OPTIONS may be lost or ignored. There is no limit for a
 * trunk that is only slow, nor for the last one of those: the call has no other way.
 */
function waysForHelp(route: SiteOutboundRoute, plan: CallPlan): readonly ConfText[] {
  const what = `outbound route ${route.name}`;
  const silent = (i: number): ConfText => conf`OFFHOOK_SILENT_${number(i)}`;
  const label = (i: number): ConfText => (i === route.trunks.length ? conf`over` : conf`again${number(i)}`);
  const dialled = (i: number, how: Pick<Way, 'patience' | 'more' | 'anyway'>): readonly ConfText[] => {
    const way = route.trunks[i]!;
    const t = plan.trunks.get(way.trunk)!;
    const kind = classOf(route.class, what);
    return [
      conf`HangupCauseClear()`,
      ...dial(t, changed(way, what), { shown: usuallyShown(t), most: conf`0`, kind, ...how }, nothing),
      NEXT_FOR_HELP,
    ];
  };
  const othersAfter = (i: number): boolean | ConfText => {
    const later = route.trunks.slice(i + 1).map((_, n) => conf`$\{${silent(i + 1 + n)}}`);
    return later.length > 0 && conf`$[$\{LEN(${joined(later, '')})} > 0 & "$\{${silent(i)}}" != "${SLOW}"]`;
  };
  return [
    ...route.trunks.flatMap((_, i) => [
      ...dialled(i, { patience: PATIENCE_FOR_HELP, more: i + 1 < route.trunks.length }),
      conf`Gosub(next-server,s,1)`,
      conf`Set(${silent(i)}=$\{GOSUB_RETVAL})`,
    ]),
    ...route.trunks.flatMap((_, i) => [
      at(label(i), conf`GotoIf($\{LEN($\{${silent(i)}})}?:${label(i + 1)})`),
      ...dialled(i, { more: othersAfter(i), anyway: true }),
    ]),
  ];
}
function usualWays(route: SiteOutboundRoute, plan: CallPlan, options: ConfText): readonly ConfText[] {
  const what = `outbound route ${route.name}`;
  const label = (i: number): ConfText => (i === route.trunks.length ? conf`over` : conf`way${number(i)}`);
  return route.trunks.flatMap((way, i) => {
    const t = plan.trunks.get(way.trunk)!;
    const more = i + 1 < route.trunks.length;
    const [first, ...rest] = [
      ...full(t, label(i + 1)),
      ...(more ? [conf`HangupCauseClear()`] : []),
      ...dial(
        t,
        changed(way, what),
        { shown: shownOver(t), most: mostOf(t), kind: classOf(route.class, what), more },
        options,
      ),
      ...(more ? NEXT : []),
    ];
    return [at(label(i), first!), ...rest];
  });
}

function outbound(
  route: SiteOutboundRoute,
  plan: CallPlan,
  recording: RecordingSteps,
  limits: LimitSteps,
): ConfText {
  const what = `outbound route ${route.name}`;
  const emergency = isEmergency(route);
  // No announcement delays a call for help, and no rule records it.
  const { caller, announce, announced, answered } = emergency ? UNRECORDED : recording;
  const ways = emergency
    ? waysForHelp(route, plan)
    : usualWays(route, plan, conf`${announced}${limits.answered(answered)}`);
  const steps = [
    conf`GotoIf(${isNumber(conf`EXTEN`)}?:number)`,
    conf`Gosub(outside-asked,s,1($\{CONTEXT},${classOf(route.class, what)},${EXTEN},${changed(route.trunks[0]!, what)}))`,
    conf`GotoIf($\{LEN($\{GOSUB_RETVAL})}?refused)`,
    ...(emergency
      ? [conf`Gosub(for-help,${EXTEN},1(${usuallyShown(plan.trunks.get(route.trunks[0]!.trunk)!)}))`]
      : []),
    ...caller,
    ...announce,
    ...ways,
    at(conf`over`, OVER),
    at(conf`refused`, conf`Goto(outside-refused,${EXTEN},1)`),
    at(conf`number`, hangUp('no_number')),
  ];
  return joined(
    [...new Set(route.patterns)].map((p) => exten(conf`_${outsidePattern(p, `${what}: pattern`)}`, steps)),
    '',
  );
}
const layerName = (layer: number): ConfText => conf`outbound-${number(layer + 1)}`;
function outboundContexts(plan: CallPlan, recording: RecordingSteps, limits: LimitSteps): ConfText {
  const { site } = plan;
  const layers = outboundLayers(site.outbound_routes);
  const denied = ROUTE_CLASSES.map((name) => ({ class: name }))
    .filter((c) => !isEmergency(c))
    .map((c) =>
      context(
        conf`not-${classOf(c.class, 'a route')}`,
        site.extensions
          .filter((e) => !mayCall(e, c))
          .map((e) => exten(dialled(e.extension, 'an extension'), [conf`NoOp()`])),
      ),
    );
  const shown = site.extensions.flatMap((e) =>
    e.caller_id === null
      ? []
      : [
          exten(dialled(e.extension, 'an extension'), [
            conf`Return(${outside(e.caller_id, `extension ${e.extension}: number shown`)})`,
          ]),
        ],
  );
  return joined(
    [
      ...layers.map((routes, i) =>
        context(
          layerName(i),
          routes.map((route) => outbound(route, plan, recording, limits)),
        ),
      ),
      ...denied,
      context(conf`shown-as`, shown),
      asked(limits, site),
      REFUSED,
      FOR_HELP,
      limits.contexts,
    ],
    '',
  );
}
/** Includes of the outbound routes, searched after all internal numbers. */
export const outboundInclude = (site: Site): ConfText =>
  joined(
    outboundLayers(site.outbound_routes).map((_, i) => include(layerName(i))),
    '',
  );

const routeContext = (route: SiteInboundRoute): ConfText => conf`route-${slug(route.name, 'a route')}`;
/** Context of an inbound route: leads the call to its destination. */
const inbound = (route: SiteInboundRoute, plan: CallPlan): ConfText =>
  context(routeContext(route), [
    exten(ANY_NUMBER, [
      ...routeLanguage(route.language, plan.site, `inbound route ${route.name}`),
      ...ownerFirst(route.owner_seconds, `inbound route ${route.name}`),
      ...destinationSteps(route.to, plan, `inbound route ${route.name}`, true),
    ]),
  ]);
/**
 * A call that a destination sends over this trunk, to the number in OFFHOOK_TO. An outside caller keeps its number; a call by
 * one of our extensions shows the number of the trunk.
 */
function sentOver(t: SiteTrunk): ConfText {
  const name = endpointOf(t);
  const alike = conf`$\{FILTER(0-9+,$\{CALLERID(num)})}-$\{OFFHOOK_TO}`;
  const shown = conf`$\{IF($\{LEN($\{OFFHOOK_EXTENSION})}?${ownNumber(t) ?? conf`$\{OFFHOOK_EXTENSION}`}:)}`;
  const steps = [
    conf`GotoIf(${isNumber(conf`OFFHOOK_TO`)}?:number)`,
    conf`Set(GROUP(alike)=${alike})`,
    conf`GotoIf($[$\{GROUP_COUNT(${alike}@alike)} > ${ALIKE}]?circle)`,
    ...full(t, conf`full`),
    ...dial(t, conf`$\{OFFHOOK_TO}`, { shown, most: mostOf(t) }, nothing),
    OVER,
    at(conf`full`, hangUp('full')),
    at(conf`circle`, hangUp('circle')),
    at(conf`number`, hangUp('no_number')),
  ];
  return context(conf`to-${name}`, [exten(ANY_NUMBER, steps), exten(conf`s`, steps)]);
}
/** The caller's number is untrusted, so it is the last argument of REGEX and cannot end the pattern. */
const callerBegins = (caller: string, what: string): ConfText => {
  const digits = outside(caller.replace('+', ''), `${what}: caller`);
  return conf`$\{REGEX("^${caller.startsWith('+') ? conf`[+]` : nothing}${digits}" $\{CALLERID(num)})}`;
};
const userOf = (t: SiteTrunk): string => (t.register ? (t.login?.username ?? '') : '');
/**
 * User name of a registered account that is no number. The engine ignores hyphens when it compares: a name of digits and hyphens
 * would match a number, and `h-` the end of a call.
 */
const accountName = (t: SiteTrunk): ConfText | null =>
  /^(?=.*[A-Za-z._])[A-Za-z0-9]-*[^-]/.test(userOf(t))
    ? loginName(userOf(t), `trunk ${t.name}: user name`)
    : null;
/** A number of an inbound route as it is matched. */
const matching = ({
  name,
  number: called,
  prefix,
}: Pick<SiteInboundRoute, 'name' | 'number' | 'prefix'>): ConfText => {
  if (called === null) return ANY_NUMBER;
  const fixed = outside(called, `inbound route ${name}: number`);
  return prefix ? conf`_${fixed}!` : fixed;
};
/**
 * Numbers and user names by which a call belongs to one of the trunks with the same host, strongest first; null if it may belong to
 * several of them.
 */
function ownersAt(
  trunks: readonly SiteTrunk[],
  routes: readonly SiteInboundRoute[],
): Map<ConfText, SiteTrunk | null> {
  const owners = new Map<ConfText, SiteTrunk | null>();
  const claim = (claims: readonly (readonly [ConfText, SiteTrunk])[]): void => {
    const found = new Map<ConfText, SiteTrunk | null>();
    for (const [key, t] of claims) found.set(key, found.has(key) && found.get(key) !== t ? null : t);
    for (const [key, t] of found) if (!owners.has(key)) owners.set(key, t);
  };
  claim(
    trunks.flatMap((t) => {
      const user = userOf(t);
      const key = /^\+?[0-9]{1,32}$/.test(user)
        ? outside(user, `trunk ${t.name}: user name`)
        : accountName(t);
      return key === null ? [] : [[key, t] as const];
    }),
  );
  const named = new Map(trunks.map((t) => [t.name, t]));
  claim(
    routes.flatMap((r) => {
      const t = r.trunk === null ? undefined : named.get(r.trunk);
      return t === undefined || r.number === null ? [] : [[matching(r), t] as const];
    }),
  );
  claim(trunks.flatMap((t) => (t.outbound_number === null ? [] : [[ownNumber(t)!, t] as const])));
  return owners;
}
/**
 * A carrier sends the calls of a registration to the user name of its account, which may have letters; the called number is then
 * in the To header, else it is that of the trunk. `arrived` are the steps of a call to a number.
 */
function arrivalByName(
  t: SiteTrunk,
  arrived: (called: ConfText) => readonly ConfText[],
): readonly ConfText[] {
  const user = accountName(t);
  if (user === null) return [];
  return [
    exten(user, [
      conf`Set(OFFHOOK_CALLED=$\{PJSIP_HEADER(read,To)})`,
      conf`Set(OFFHOOK_CALLED=$\{CUT(OFFHOOK_CALLED,@,1)})`,
      conf`Set(OFFHOOK_CALLED=$\{CUT(OFFHOOK_CALLED,:,2)})`,
      conf`ExecIf(${isNumber(conf`OFFHOOK_CALLED`)}?NoOp():Set(OFFHOOK_CALLED=${ownNumber(t) ?? conf`0`}))`,
      ...arrived(conf`$\{OFFHOOK_CALLED}`),
    ]),
  ];
}
const belongsTo = (t: SiteTrunk, { settings }: Pick<Site, 'settings'>): readonly ConfText[] => [
  conf`Set(CHANNEL(language)=${language(t.language ?? settings.language, `trunk ${t.name}: language`)})`,
  conf`Goto(${arrivals(t)},${EXTEN},1)`,
];
/** Inbound numbers of one trunk, the most specific routes first; a number in none of the layers has no route. */
function arrivalContexts(t: SiteTrunk, site: Site): ConfText {
  const layers = inboundOrder(site.inbound_routes, t.name);
  const nameOf = (i: number): ConfText =>
    // The index comes first; after the name it could be read as the name of another trunk.
    i === layers.length ? conf`unrouted` : conf`numbers-${number(i + 1)}-${endpointOf(t)}`;
  // These lead to another context, so that no call passes them twice.
  const arrived = (called: ConfText): readonly ConfText[] => [
    conf`Set(GROUP(calls)=${endpointOf(t)})`,
    ...(t.max_calls === null
      ? []
      : [conf`GotoIf($[$\{GROUP_COUNT(${endpointOf(t)}@calls)} > ${mostOf(t)}]?full)`]),
    findCustomer,
    conf`Goto(${nameOf(0)},${called},1)`,
    at(conf`full`, hangUp('full')),
  ];
  const alike = trunksAt(t, site.trunks);
  // Only the first one receives calls that are known by their address alone.
  const owners = alike.length > 1 && alike[0] === t ? [...ownersAt(alike, site.inbound_routes)] : [];
  const entry = context(arrivals(t), [
    exten(ANY_NUMBER, arrived(EXTEN)),
    ...arrivalByName(t, arrived),
    ...owners.flatMap(([key, owner]) =>
      key === accountName(t)
        ? []
        : [exten(key, owner === null || owner === t ? arrived(EXTEN) : belongsTo(owner, site))],
    ),
  ]);
  return joined(
    [
      entry,
      ...layers.map((groups, i) =>
        context(nameOf(i), [
          include(nameOf(i + 1)),
          ...groups.map(({ number: called, prefix, routes }) => {
            const { name } = routes[0]!;
            const what = `inbound route ${name}`;
            return exten(matching({ name, number: called, prefix }), [
              ...routes.map((r) =>
                r.caller === null
                  ? conf`Goto(${routeContext(r)},${EXTEN},1)`
                  : conf`GotoIf(${callerBegins(r.caller, what)}?${routeContext(r)},${EXTEN},1)`,
              ),
              ...(routes.at(-1)!.caller === null ? [] : [conf`Goto(${nameOf(i + 1)},${EXTEN},1)`]),
            ]);
          }),
        ]),
      ),
    ],
    '',
  );
}

export function trunkContexts(plan: CallPlan, recording: RecordingSteps, zone: string): ConfText {
  const { site } = plan;
  if (site.trunks.length === 0) return nothing;
  const limits = limitSteps(plan, zone, recording.answered.length > 0);
  return joined(
    [
      ...site.trunks.map((t) => arrivalContexts(t, site)),
      context(conf`unrouted`, [exten(ANY_NUMBER, [hangUp('unknown')])]),
      ...site.inbound_routes.map((r) => inbound(r, plan)),
      ...site.trunks.map(sentOver),
      outboundContexts(plan, recording, limits),
      overTrunk(limits),
      NEXT_TRUNK,
      ...(site.trunks.some((t) => t.servers.length > 1) || site.outbound_routes.some(isEmergency)
        ? [NEXT_SERVER]
        : []),
    ],
    '',
  );
}
