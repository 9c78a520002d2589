/**
 * Calls between the engines of a site: a trunk to each of the others, and the numbers that are homed there. Such a call is an internal
 * pair with one half at each engine. The id of the calling half is the account of both: its own engine sets it before the INVITE, the
 * other one reads it from a header of an engine that signed in.
 */
import type { OtherEngine, Site } from '../../../ports/site.ts';
import { callingPhone } from './call-contexts.ts';
import { at, context, exten, hangUp } from './dialplan-text.ts';
import type { Instance, InstanceSettings } from './instance.ts';
import { conf, host, joined, objectName, secret, whole } from './text.ts';
import type { ConfText } from './text.ts';

/** Name of the endpoint behind which another engine of the site is, before the name of its node. */
export const ENGINE = 'engine-';
const nothing = conf``;
const HEADER = conf`X-Offhook-Half`;
/** Name of an engine's trunk. */
const trunkOf = (node: string): ConfText => objectName(`${ENGINE}${node}`, 'the node of an engine');
/** Number of a person or queue that is homed at another engine. */
export const leadsTo = (number: ConfText, node: string): ConfText =>
  exten(number, [conf`Goto(to-${trunkOf(node)},$\{EXTEN},1)`]);

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
export const engineContexts = (
  { engines = [] }: Pick<Site, 'engines'>,
  instance: Pick<Instance, 'node'>,
): ConfText =>
  engines.length === 0
    ? nothing
    : joined(
        [
          context(conf`half`, [
            exten(conf`s`, [
              conf`Set(CHANNEL(accountcode)=${objectName(instance.node, 'the node')}:$\{CHANNEL(uniqueid)})`,
              conf`Set(PJSIP_HEADER(add,${HEADER})=$\{CHANNEL(accountcode)})`,
              conf`Return()`,
            ]),
          ]),
          ...engines.map(({ node }) =>
            context(conf`to-${trunkOf(node)}`, [
              exten(conf`_X.`, [
                conf`GotoIf($["$\{DEVICE_STATE(PJSIP/${trunkOf(node)})}" = "UNAVAILABLE"]?away)`,
                conf`Dial(PJSIP/$\{EXTEN}@${trunkOf(node)},,${callingPhone}b(half^s^1))`,
                conf`Hangup($\{HANGUPCAUSE})`,
                at(conf`away`, hangUp('full')),
              ]),
            ]),
          ),
          context(conf`from-engines`, [
            exten(conf`_X.`, [
              conf`Set(CHANNEL(accountcode)=$\{FILTER(--.0-9:A-Z_a-z,$\{PJSIP_HEADER(read,${HEADER})})})`,
              conf`Goto(arrivals,$\{EXTEN},1)`,
            ]),
          ]),
          conf`
[arrivals]
include => people-here
include => queues-here
`,
        ],
        '',
      );

/** Where people and queues are homed: the node of an engine, null for that of the leading node. */
export interface Homes {
  readonly extension: (extension: string) => string | null;
  readonly queue: (name: string) => string | null;
}
/** The site as one of its engines has it; `own` is null for that of the leading node. */
export function siteAt(
  site: Site,
  own: string | null,
  homes: Homes,
  leading: OtherEngine,
  others: readonly OtherEngine[],
): Site {
  const elsewhere = (home: string | null): string | null => (home === own ? null : (home ?? leading.node));
  return {
    ...site,
    engines: [leading, ...others].filter(({ node }) => node !== (own ?? leading.node)),
    extensions: site.extensions.map((e) => ({ ...e, elsewhere: elsewhere(homes.extension(e.extension)) })),
    queues: site.queues.map((q) => ({ ...q, elsewhere: elsewhere(homes.queue(q.name)) })),
  };
}
