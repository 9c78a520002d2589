/** The dialplan: the steps of each number, and the devices of each extension. */
import type { Instance } from './instance.ts';
import type { EndpointKind } from '../../../ports/directory.ts';
import type { Site, SiteExtension, SiteParking, SiteQueue, SiteService } from '../../../ports/site.ts';
import { INTERNAL, REACH, callPlan } from '../../../routing/plan.ts';
import type { CallPlan } from '../../../routing/plan.ts';
import { calledPhone, callContexts, callingPhone, healthContext, ownForward } from './call-contexts.ts';
import { customerContexts, namingCustomer } from './customer-contexts.ts';
import { counted, destinationSteps, numbersOf } from './destinations.ts';
import { leadsTo } from './elsewhere.ts';
import { engineContexts } from './engine-trunks.ts';
import { isHere } from '../../../ports/site.ts';
import { codeContexts } from './code-contexts.ts';
import { at, context, exten, hangUp, madeOf } from './dialplan-text.ts';
import { flowContexts } from './flow-contexts.ts';
import { forwardContexts, watched } from './forward-contexts.ts';
import {
  afterRinging,
  beforeRinging,
  dndState,
  ringSeconds,
  selfServiceContexts,
  wantsNone,
} from './self-service-contexts.ts';
import { recordingSteps } from './recording-contexts.ts';
import type { RecordingSteps } from './recording-contexts.ts';
import { languageContexts } from './language-contexts.ts';
import { outboundInclude, trunkContexts } from './route-contexts.ts';
import { atPhoneState, sharedPhoneContexts } from './shared-phone-contexts.ts';
import { switchContexts, switchHints } from './switch-contexts.ts';
import { soundGlobals, soundStep } from './sounds.ts';
import { QUEUE_LEFT } from './cel-format.ts';
import { conf, dialled, dialledKey, joined, pattern, slug, whole } from './text.ts';
import type { ConfText } from './text.ts';
import { wakeContexts } from './wake-contexts.ts';
import { IS_CONNECTED, NOBODY_TOOK_IT } from './unanswered.ts';

/** Suffix of an extension's endpoint by kind; the order is that of the devices of a hint. */
const SUFFIX: Record<EndpointKind, ConfText> = { sip: conf``, webrtc: conf`-web`, mobile: conf`-mobile` };
const KINDS = Object.keys(SUFFIX) as EndpointKind[];
/** The context that leaves the addresses of one kind of device. */
const DEVICES_OF: Record<EndpointKind, ConfText> = {
  sip: conf`devices-sip`,
  webrtc: conf`devices-webrtc`,
  mobile: conf`devices-mobile`,
};
const nothing = conf``;
const EXTEN = conf`$\{EXTEN}`;

const kindsOf = (e: SiteExtension): readonly EndpointKind[] =>
  KINDS.filter((kind) => e.endpoints.some((p) => p.kind === kind));
/** One pattern for each length and first digit, so that the number of lines does not grow with the extensions. */
function patternsOf(extensions: readonly SiteExtension[]): readonly ConfText[] {
  const found = new Set(
    extensions.map((e) => `_${e.extension.slice(0, 1)}${'X'.repeat(e.extension.length - 1)}`),
  );
  return [...found].sort().map((p) => pattern(p, 'a pattern of extensions'));
}
/** Extensions with fewer devices than all kinds have exact lines, which win over the pattern. */
const exceptions = (extensions: readonly SiteExtension[]): readonly SiteExtension[] =>
  extensions.filter((e) => kindsOf(e).length < KINDS.length);

const device = (who: ConfText, kind: EndpointKind): ConfText => conf`PJSIP/${who}${SUFFIX[kind]}`;
const hint = (
  number: ConfText,
  who: ConfText,
  kinds: readonly EndpointKind[],
  atShared: boolean,
): ConfText => {
  const own = kinds.map((kind) => device(who, kind));
  const devices = joined([...own, ...(atShared ? [atPhoneState(who)] : []), dndState(who)], '&');
  return conf`exten => ${number},hint,${devices}
`;
};
/** The lamp of a queue rings while callers wait. */
const queueHint = (q: SiteQueue): ConfText =>
  conf`exten => ${dialled(q.number, `queue ${q.name}`)},hint,Queue:${slug(q.name, 'the name of a queue')}
`;
/** The lamp of a slot is lit while a call is parked there. */
const slotHints = ({ first_slot, last_slot }: SiteParking): ConfText[] =>
  Array.from({ length: last_slot - first_slot + 1 }, (_, i) => {
    const slot = dialled(String(first_slot + i), 'a parking slot');
    return conf`exten => ${slot},hint,park:${slot}@parkedcalls
`;
  });
/**
 * Leaves in GOSUB_RETVAL every registered address of the devices; an empty place between two & is nothing to Dial.
 * A phone chooses its own address, and a comma or an & in it would be an argument of Dial or another destination: an
 * endpoint with an address of other characters is dialled by its name, which rings one of its addresses.
 */
function addresses(
  number: ConfText,
  who: ConfText,
  kinds: readonly EndpointKind[],
  atShared: boolean,
): ConfText {
  const name = (i: number): ConfText => conf`D${whole(i, 'device', 0, 9)}`;
  const steps = kinds.flatMap((kind, i) => {
    const d = device(who, kind);
    const harmless = conf`^(${d}/sips?:[]A-Za-z0-9@:\\;=._~%+*!/?[-]+(&|$))*$`;
    return [
      conf`Set(LOCAL(${name(i)})=$\{PJSIP_DIAL_CONTACTS(${who}${SUFFIX[kind]})})`,
      conf`ExecIf($[${madeOf(conf`$\{${name(i)}}`, 'unquoted')} & $\{REGEX("${harmless}" $\{${name(i)}})}]?NoOp():Set(LOCAL(${name(i)})=${d}))`,
    ];
  });
  const found = kinds.map((_, i) => conf`$\{${name(i)}}`);
  const shared = atShared && kinds.includes('sip');
  return exten(number, [
    ...steps,
    ...(shared ? [conf`Gosub(devices-at,${who},1)`] : []),
    conf`Return(${joined(shared ? [...found, conf`$\{GOSUB_RETVAL}`] : found, '&')})`,
  ]);
}

/** Rings all devices of an extension; ARG1 is the extension again when it has a mailbox. */
const call = ({ caller, announce, announced, answered }: RecordingSteps): ConfText =>
  context(conf`call`, [
    exten(conf`_X.`, [
      ...beforeRinging,
      ...caller,
      ...announce,
      conf`Gosub(own-devices,$\{EXTEN},1)`,
      conf`Dial($\{GOSUB_RETVAL},${ringSeconds},${ownForward}${calledPhone}${callingPhone}${watched}${announced}${answered})`,
      ...afterRinging,
      conf`GotoIf($["$\{ARG1}" = ""]?nobody)`,
      conf`VoiceMail($\{ARG1}@default,$\{IF($\{OFFHOOK_BUSY}?b:u)})`,
      conf`Hangup()`,
      at(conf`nobody`, IS_CONNECTED),
      ...NOBODY_TOOK_IT,
    ]),
  ]);
/** A queue with `ring_in_use` ignores the state of its members, so do not disturb is checked here. */
const queueAgent = ({ answered }: RecordingSteps): readonly ConfText[] => [
  conf`GotoIf(${wantsNone}?busy)`,
  conf`Gosub(own-devices,$\{EXTEN},1)`,
  conf`Dial($\{GOSUB_RETVAL},,${ownForward}${calledPhone}${namingCustomer}${answered})`,
  conf`Hangup($\{HANGUPCAUSE})`,
  at(conf`busy`, hangUp('busy')),
];

function person(e: SiteExtension): ConfText {
  const number = dialled(e.extension, 'an extension');
  return exten(number, [conf`Gosub(call,${number},1(${e.voicemail ? number : nothing}))`]);
}
const NOBODY: readonly ConfText[] = [conf`Playback(vm-nobodyavail)`, conf`Hangup()`];
/**
 * Records why a caller left a queue, which the engine's records lack. A caller that hangs up or is moved does not reach this
 * step.
 */
const left = (status: ConfText): ConfText => conf`CELGenUserEvent(${QUEUE_LEFT},${status})`;
/** Steps after a queue. */
const leave = (q: SiteQueue, plan: CallPlan): readonly ConfText[] => [
  left(conf`$\{QUEUESTATUS}`),
  ...(q.otherwise === null ? NOBODY : destinationSteps(q.otherwise, plan, `queue ${q.name}: otherwise`)),
];
/**
 * Last steps before a queue. Until 0.1.0 the Queue was where the Goto is, and a caller who waits during the update of the service
 * continues at the step after it. Remove the steps after the Goto when the service is no longer updated from 0.1.0.
 */
const enter = (q: SiteQueue, plan: CallPlan, recording: RecordingSteps): readonly ConfText[] => {
  const name = slug(q.name, 'a queue name');
  return [...recording.queue(name), conf`Goto(wait-${name},${EXTEN},1)`, ...leave(q, plan)];
};
/**
 * A caller waits in the queue, and hears an announcement if no agent answered. After the queue the engine continues at the next
 * step of the same context, and an apply may have changed the dialplan meanwhile: so the context has the name of the queue, not
 * its number, and the number of steps before the queue is always the same. A moved caller has its position in EXTEN.
 */
function waiting(q: SiteQueue, plan: CallPlan): ConfText {
  const name = slug(q.name, 'a queue name');
  const wait =
    q.max_wait_seconds === 0 ? nothing : whole(q.max_wait_seconds, `queue ${name}: longest wait`, 1, 86_400);
  return context(conf`wait-${name}`, [
    exten(conf`_X!`, [
      conf`Queue(${name},C${calledPhone}${callingPhone},,,${wait},,,,$\{CUT(EXTEN,*,2)})`,
      ...leave(q, plan),
    ]),
  ]);
}
const queue = (q: SiteQueue, plan: CallPlan, recording: RecordingSteps): ConfText =>
  exten(dialled(q.number, `queue ${q.name}: number`), [
    ...counted,
    conf`Answer()`,
    ...(q.announcement === null
      ? []
      : [conf`Playback(${soundStep(plan.site, q.announcement, `queue ${q.name}: announcement`)})`]),
    ...recording.caller,
    ...enter(q, plan, recording),
  ]);
/** Destination of callers that a supervisor moves out of a queue: `<number>*<position>*<priority>`, position 0 for the end. */
const movedTo = (q: SiteQueue): ConfText => conf`_${dialled(q.number, `queue ${q.name}: number`)}*X.`;
const moved = (q: SiteQueue, plan: CallPlan, recording: RecordingSteps): ConfText =>
  exten(movedTo(q), [
    // A caller that another engine moves here arrives by a new call.
    ...((plan.site.engines ?? []).length === 0 ? [] : [conf`Answer()`]),
    conf`Set(QUEUE_PRIO=$\{CUT(EXTEN,*,3)})`,
    ...enter(q, plan, recording),
  ]);
const SERVICE: Record<SiteService['kind'], readonly ConfText[]> = {
  echo: [
    conf`Answer()`,
    conf`Playback(demo-echotest)`,
    conf`Echo()`,
    conf`Playback(demo-echodone)`,
    conf`Hangup()`,
  ],
  music_on_hold: [conf`Answer()`, conf`MusicOnHold()`],
  voicemail: [
    conf`GotoIf($["$\{OFFHOOK_EXTENSION}" = ""]?refused)`,
    conf`VoiceMailMain($\{OFFHOOK_EXTENSION}@default,s)`,
    conf`Hangup()`,
    at(conf`refused`, hangUp('rejected')),
  ],
};
const service = (s: SiteService): ConfText => exten(pattern(s.number, 'a service number'), SERVICE[s.kind]);

/** An agent who signs in by a code gets the penalty of the configuration, which the code reads here (codes/login.ts). */
const penalties = (queues: readonly SiteQueue[]): ConfText =>
  joined(
    queues.flatMap((q) =>
      q.members
        .filter((m) => m.penalty > 0)
        .map((m) => {
          const name = slug(q.name, 'a queue name');
          const agent = dialled(m.extension, `queue ${name}: agent`);
          return conf`PENALTY_${agent}_${name} = ${whole(m.penalty, `queue ${name}: penalty of ${agent}`, 0, 100)}
`;
        }),
    ),
    '',
  );
/** Bytes of the names in one value: the engine cuts off what is beyond 4,095 when a step reads it. */
const MOST_BYTES = 3_000;
/** Names in parts that the engine can read. */
function partsOf(names: readonly ConfText[]): readonly (readonly ConfText[])[] {
  const parts: ConfText[][] = [[]];
  let bytes = 0;
  for (const name of names) {
    if (bytes + name.length + 1 > MOST_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(name);
    bytes += name.length + 1;
  }
  return parts;
}
/** Data of an agent for feature codes: all its queues, and each one by its number. */
function agentQueues(queues: readonly SiteQueue[]): readonly ConfText[] {
  const all = new Map<ConfText, ConfText[]>();
  const single: ConfText[] = [];
  for (const q of queues) {
    const name = slug(q.name, 'a queue name');
    const number = dialled(q.number, `queue ${name}: number`);
    for (const agent of q.agents) {
      const extension = dialled(agent, `queue ${name}: agent`);
      const names = all.get(extension);
      if (names === undefined) all.set(extension, [name]);
      else names.push(name);
      single.push(exten(conf`${extension}*${number}`, [conf`Return(${name})`]));
    }
  }
  const lines = [...all].flatMap(([extension, names]) => {
    const parts = partsOf(names);
    return parts.map((part, i) => {
      const next = i + 1 < parts.length ? [conf`+${whole(i + 2, 'a part of a list', 2, 1_000)}`] : [];
      const suffix = i === 0 ? nothing : conf`+${whole(i + 1, 'a part of a list', 2, 1_000)}`;
      return exten(conf`${extension}${suffix}`, [conf`Return(${joined([...part, ...next], '&')})`]);
    });
  });
  return [...lines, ...single];
}

/** Destination of the key that leaves a queue. */
function exit(q: SiteQueue, plan: CallPlan): ConfText {
  if (q.exit === null) return nothing;
  const what = `queue ${q.name}: exit`;
  return context(conf`exit-${slug(q.name, 'a queue name')}`, [
    exten(dialledKey(q.exit.key, `${what} key`), [
      left(conf`EXIT_KEY`),
      ...destinationSteps(q.exit.to, plan, what),
    ]),
  ]);
}

/** Numbers of people or queues; those of other engines lead there, and a context of its own has those of this one. */
function homed<T extends { readonly elsewhere?: string | null }>(
  name: ConfText,
  { engines = [] }: Pick<Site, 'engines'>,
  here: readonly ConfText[],
  all: readonly T[],
  numberOf: (one: T) => ConfText,
): ConfText {
  if (engines.length === 0) return context(name, here);
  const there = all.flatMap((one) => (isHere(one) ? [] : [leadsTo(numberOf(one), one.elsewhere!)]));
  return joined(
    [
      context(name, [
        conf`include => ${name}-here
`,
        ...there,
      ]),
      context(conf`${name}-here`, here),
    ],
    '',
  );
}

/** `zone` is that of the site. */
export function extensionsConf(site: Site, instance: Instance, zone: string): ConfText {
  const plan = callPlan(site);
  const recording = recordingSteps(site, instance);
  const here = { extensions: site.extensions.filter(isHere), queues: site.queues.filter(isHere) };
  const patterns = patternsOf(here.extensions);
  const atShared = site.shared_phones.length > 0;
  const few = exceptions(here.extensions).map((e) => ({
    number: dialled(e.extension, 'an extension'),
    kinds: kindsOf(e),
  }));
  return conf`
[general]
static = yes
writeprotect = yes
clearglobalvars = yes


[globals]
${soundGlobals(site, instance)}${penalties(here.queues)}
[internal]
${numbersOf(INTERNAL)}${outboundInclude(site)}${joined(
    [
      homed(conf`people`, site, here.extensions.map(person), site.extensions, (e) =>
        dialled(e.extension, 'an extension'),
      ),
      homed(
        conf`queues`,
        site,
        here.queues.map((q) => queue(q, plan, recording)),
        site.queues,
        (q) => dialled(q.number, `queue ${q.name}: number`),
      ),
      engineContexts(plan, instance, recording),
      context(conf`services`, site.services.map(service)),
      codeContexts(site),
      homed(
        conf`queue-moved`,
        site,
        [
          ...here.queues.map((q) => moved(q, plan, recording)),
          exten(conf`withdrawn`, [left(conf`WITHDRAW`), ...NOBODY]),
        ],
        site.queues,
        movedTo,
      ),
      ...here.queues.flatMap((q) => [waiting(q, plan), exit(q, plan)]),
      context(conf`agent-queues`, agentQueues(here.queues)),
      call(recording),
      recording.contexts,
      context(
        conf`queue-agent`,
        patterns.map((p) => exten(p, queueAgent(recording))),
      ),
      context(conf`devices`, [
        ...patterns.map((p) => addresses(p, EXTEN, KINDS, atShared)),
        ...few.map((e) => addresses(e.number, e.number, e.kinds, atShared)),
      ]),
      ...KINDS.map((kind) =>
        context(DEVICES_OF[kind], [
          ...patterns.map((p) => addresses(p, EXTEN, [kind], atShared)),
          // The engine logs a warning for an endpoint that does not exist.
          ...few.filter((e) => !e.kinds.includes(kind)).map((e) => exten(e.number, [conf`Return()`])),
        ]),
      ),
      callContexts,
      healthContext,
      flowContexts(plan, recording, zone),
      conf`
[reach]
${numbersOf(REACH)}${outboundInclude(site)}`,
      trunkContexts(plan, recording, zone),
      forwardContexts(site),
      customerContexts(recording),
      languageContexts(site),
      selfServiceContexts,
      sharedPhoneContexts(site),
      switchContexts(site),
      wakeContexts,
      context(conf`hints`, [
        // Those of all engines: queues are read first, and a member without a hint would stay invalid.
        ...patternsOf(site.extensions).map((p) => hint(p, EXTEN, KINDS, atShared)),
        ...few.map((e) => hint(e.number, e.number, e.kinds, atShared)),
        ...here.queues.map(queueHint),
        ...site.parking_lots.flatMap(slotHints),
        ...switchHints(site),
      ]),
    ],
    '',
  )}
#tryinclude custom/extensions.conf
`;
}
