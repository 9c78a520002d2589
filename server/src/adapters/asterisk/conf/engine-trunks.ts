/**
 * Calls between the engines of a site: a trunk to each of the others, and the numbers that are homed there. Such a call is an internal
 * pair with one half at each engine. The id of the calling half is the account of both: its own engine sets it before the INVITE, the
 * other one reads it from a header of an engine that signed in.
 */
import type { OtherEngine, Site } from '../../../ports/site.ts';
import type { CallPlan } from '../../../routing/plan.ts';
import { callingPhone } from './call-contexts.ts';
import { at, cause, context, exten, hangUp } from './dialplan-text.ts';
import { ENGINE, MEMBER, SHARED, trunkOf } from './elsewhere.ts';
import type { Instance, InstanceSettings } from './instance.ts';
import type { RecordingSteps } from './recording-contexts.ts';
import { conf, dialled, host, joined, objectName, secret, whole } from './text.ts';
import type { ConfText } from './text.ts';

const nothing = conf``;
/** Cause with which another engine answers a number that it does not have. */
const UNKNOWN = cause('unknown');
const HEADER = conf`X-Offhook-Half`;
/** Begin of the names of channels to other engines. */
const ENGINE_NAME = conf`PJSIP/engine-`;
const ENGINE_NAME_LENGTH = whole(`PJSIP/${ENGINE}`.length, 'a length', 1, 100);
/** Forwards and destinations that a call has passed, so that a loop over several engines ends as one within an engine does. */
const PASSED = conf`X-Offhook-Passed`;
const ARRIVED: readonly ConfText[] = [
  conf`Set(CHANNEL(accountcode)=$\{FILTER(--.0-9:A-Z_a-z,$\{PJSIP_HEADER(read,${HEADER})})})`,
  conf`Set(OFFHOOK_PASSED=$\{FILTER(--.0-9x,$\{PJSIP_HEADER(read,${PASSED})})})`,
  conf`Set(OFFHOOK_FORWARDS=$\{FILTER(x,$\{CUT(OFFHOOK_PASSED,-,1)})})`,
  conf`Set(OFFHOOK_PLACES=$\{FILTER(0-9,$\{CUT(OFFHOOK_PASSED,-,2)})})`,
];
export function engineObjects(
  { engines = [] }: Pick<Site, 'engines'>,
  instance: Pick<Instance, 'node'>,
  { engine_secret }: Pick<InstanceSettings, 'engine_secret'>,
): ConfText {
  if (engines.length === 0) return nothing;
  const own = trunkOf(instance.node);
  const password = secret(engine_secret ?? '', 'the secret of the engines');
  return conf`
[engine](!)
type = endpoint
; Known by its address, and each call signed in.
identify_by = ip
allow_unauthenticated_options = yes
context = from-engines
disallow = all
allow = g722,alaw,ulaw
direct_media = no
send_pai = yes
; Who is held hears the music of his own engine, whose records then show the hold.
moh_passthrough = yes
trust_id_inbound = yes
trust_id_outbound = yes
allow_transfer = no
allow_subscribe = no
from_user = ${own}
outbound_auth = ${own}

[${own}]
type = auth
auth_type = digest
username = ${own}
password = ${password}
${joined(
  engines.map((one) => {
    const name = trunkOf(one.node);
    return conf`
[${name}](engine)
aors = ${name}
auth = ${name}
[${name}]
type = auth
auth_type = digest
username = ${name}
password = ${password}
[${name}]
type = identify
endpoint = ${name}
match = ${host(one.host, 'an engine: host')}
[${name}]
type = aor
contact = sip:${host(one.host, 'an engine: host')}:${whole(one.port, 'an engine: port', 1, 65535)}
qualify_frequency = 5
qualify_timeout = 3.0
`;
  }),
  '',
)}`;
}

/** `arrivals` has the numbers that are homed here, and no others, so that no call goes on to a third engine. */
export function engineContexts(
  plan: CallPlan,
  instance: Pick<Instance, 'node'>,
  { answered, caller }: RecordingSteps,
): ConfText {
  const { engines = [], leading = null } = plan.site;
  if (engines.length === 0) return nothing;
  const shared = leading === null ? [...plan.places].filter(([, { kind }]) => SHARED.has(kind)) : [];
  return joined(
    [
      context(conf`half`, [
        exten(conf`s`, [
          conf`Set(CHANNEL(accountcode)=${objectName(instance.node, 'the node')}:$\{CHANNEL(uniqueid)})`,
          conf`Set(PJSIP_HEADER(add,${HEADER})=$\{CHANNEL(accountcode)})`,
          conf`ExecIf($\{LEN($\{ARG1}$\{ARG2})}?Set(PJSIP_HEADER(add,${PASSED})=$\{ARG1}-$\{ARG2}))`,
          conf`Return()`,
        ]),
      ]),
      context(conf`ringing-member`, [
        exten(conf`s`, [
          conf`GotoIf($["$\{CHANNEL(name):0:${ENGINE_NAME_LENGTH}}" = "${ENGINE_NAME}"]?half,s,1)`,
          conf`Goto(name-customer,s,1)`,
        ]),
      ]),
      ...engines.map(({ node }) =>
        context(conf`to-${trunkOf(node)}`, [
          exten(conf`_X.`, [
            conf`GotoIf($["$\{DEVICE_STATE(PJSIP/${trunkOf(node)})}" = "UNAVAILABLE"]?away)`,
            ...caller,
            conf`Dial(PJSIP/$\{EXTEN}@${trunkOf(node)},,${callingPhone}b(half^s^1($\{OFFHOOK_FORWARDS}^$\{OFFHOOK_PLACES}))${answered})`,
            // An engine that dies with calls of this one is not known to be away yet.
            conf`GotoIf($["$\{DIALSTATUS}" = "CHANUNAVAIL" & "$\{HANGUPCAUSE}" != "${UNKNOWN}"]?away)`,
            conf`Hangup($\{HANGUPCAUSE})`,
            at(conf`away`, hangUp('full')),
          ]),
        ]),
      ),
      context(conf`from-engines`, [
        exten(conf`_X.`, [...ARRIVED, conf`Goto(arrivals,$\{EXTEN},1)`]),
        exten(conf`_${MEMBER}X.`, [...ARRIVED, conf`Goto(arrived-member,$\{EXTEN:1},1)`]),
      ]),
      conf`
[arrivals]
include => people-here
include => queues-here
include => queue-moved-here
${
  shared.length === 0
    ? nothing
    : conf`include => shared-here
`
}`,
      shared.length === 0
        ? nothing
        : context(
            conf`shared-here`,
            shared.map(([number]) =>
              exten(dialled(number, 'a shared number'), [conf`Goto(places,$\{EXTEN},1)`]),
            ),
          ),
      context(conf`arrived-member`, [
        exten(conf`_X.`, [
          conf`GotoIf($\{DIALPLAN_EXISTS(people-here,$\{EXTEN},1)}?:away)`,
          conf`Goto(queue-agent,$\{EXTEN},1)`,
          at(conf`away`, hangUp('unknown')),
        ]),
      ]),
    ],
    '',
  );
}

/**
 * The site as one of its engines has it: `site` names the engines beside the leading one, and the homes. `own` is the node of the
 * rendered engine, null for the leading one. A site with one engine stays as it is.
 */
export function siteAt(site: Site, own: string | null, leading: OtherEngine): Site {
  const { engines = [] } = site;
  if (engines.length === 0) return site;
  const elsewhere = (home: string | null = null): string | null =>
    home === own ? null : (home ?? leading.node);
  return {
    ...site,
    engines: [leading, ...engines].filter(({ node }) => node !== (own ?? leading.node)),
    leading: own === null ? null : leading.node,
    extensions: site.extensions.map((e) => ({ ...e, elsewhere: elsewhere(e.engine) })),
    queues: site.queues.map((q) => ({ ...q, elsewhere: elsewhere(q.engine) })),
    // Each trunk takes calls from the carrier at the engine that registers, and is used by all for calls out.
    trunks: own === null ? site.trunks : site.trunks.map((t) => ({ ...t, register: false })),
  };
}
