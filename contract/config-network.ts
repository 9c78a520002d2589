/** Configuration of the site as a whole: its settings, its network and its engines. */
import { z } from 'zod';
import { Language, Location, Node, Port, SoundRef, Title, ref } from './config-fields.ts';

export const SettingsConfig = z
  .strictObject({
    name: z.literal('site').default('site'),
    recording_announcement: SoundRef.nullable()
      .default(null)
      .describe('Announcement for both sides before recording by rule.'),
    language: Language.default('en').describe(
      'Of prompts, where neither the route, the trunk nor the person has another one.',
    ),
    customer_languages: z
      .array(Language)
      .max(20)
      .refine((d) => new Set(d).size === d.length, 'must contain each value once')
      .default([])
      .describe('Further languages of customers of the phonebook, so that the engine has their prompts.'),
    sign_out_hours: z
      .int()
      .min(1)
      .max(168)
      .nullable()
      .default(12)
      .describe('Hours after which a person is signed out of a shared phone; null for never.'),
  })
  .meta({ id: 'SettingsConfig' });

const Address = z.union([z.ipv4(), z.ipv6()]);
/** An address that other machines can send to: not unspecified, loopback or multicast. */
const Reachable = Address.refine(
  (ip) => !/^(?:0|127|2[2-5][0-9])\.|^::1?$|^ff/i.test(ip),
  'must be an address that others can reach',
);
const Net = z.union([z.cidrv4(), z.cidrv6()]);
const MediaPorts = z
  .strictObject({ from: z.int().min(1024).max(65532), to: z.int().min(1027).max(65535) })
  .refine((r) => r.to - r.from >= 3, { path: ['to'], message: 'must have at least four ports' });
export const NetworkConfig = z
  .strictObject({
    name: z.literal('site').default('site'),
    external_address: Reachable.nullable()
      .default(null)
      .describe(
        'Address of this machine as phones and trunks outside `local_nets` see it; null without NAT.',
      ),
    external_address_source: z
      .enum(['fixed', 'stun', 'interface'])
      .default('fixed')
      .describe(
        'Origin of the external address: `fixed` is `external_address`; `stun` is the answer of `stun_server`, and `interface` the address of `external_interface`, both followed while the service runs. Until there is one, `external_address` counts.',
      ),
    stun_server: z
      .union([
        z.ipv4(),
        z.ipv6(),
        z.hostname().refine((name) => !name.endsWith('.'), 'must not end in a dot'),
      ])
      .nullable()
      .default(null)
      .describe('STUN server outside that is asked for the address of this machine (UDP).'),
    stun_port: Port.default(3478),
    external_interface: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$/, 'must be the name of a network interface, such as ppp0')
      .nullable()
      .default(null)
      .describe('Network interface of this machine that has the external address.'),
    external_media_address: Reachable.nullable()
      .default(null)
      .describe('The same for media; null for `external_address`.'),
    local_nets: z
      .array(Net)
      .max(100)
      .default([])
      .describe('Networks such as 192.168.0.0/16 that reach this machine by its own address.'),
    rtp_ports: MediaPorts.nullable()
      .default(null)
      .describe('UDP ports for media; null for `OFFHOOK_RTP_PORTS`.'),
    ice_hosts: z
      .array(
        z.strictObject({
          local: Reachable,
          external: Reachable,
          keep_local: z
            .boolean()
            .default(true)
            .describe('Browsers are offered the local address too, to which TURN relays.'),
        }),
      )
      .max(20)
      .default([])
      .describe('Own addresses that browsers and mobile apps outside reach by another one (1:1 NAT).'),
    tls_port: Port.nullable()
      .default(null)
      .describe('Port of SIP over TLS at the address of `OFFHOOK_SIP_LISTEN`; null for none.'),
    ldap_port: Port.nullable()
      .default(null)
      .describe(
        'Port at which desk phones read the phonebook by LDAP and LDAPS, at the address of `OFFHOOK_SIP_LISTEN`, usually 389 or 1389; null for none.',
      ),
    turn_port: Port.nullable()
      .default(null)
      .describe(
        'Port of the TURN server for browsers and mobile apps, UDP and TCP at the address of `OFFHOOK_SIP_LISTEN`, usually 3478; null for none.',
      ),
    turn_tls_port: Port.nullable()
      .default(null)
      .describe('Port of TURN over TLS with the certificate of SIP; null for none.'),
    turn_relay_ports: MediaPorts.nullable()
      .default(null)
      .describe('UDP ports from which relayed media reaches the engine; null for 49152 to 65535.'),
    turn_nets: z
      .array(Net)
      .max(100)
      .default([])
      .describe(
        'Networks that media may be relayed to beside the engine itself, which is all that phones need.',
      ),
    locations: z
      .array(z.strictObject({ net: Net, location: Location }))
      .max(500)
      .default([])
      .describe(
        'Where the phones of a network are, for emergency calls; the smallest network with the address of the phone counts, before the location of the extension.',
      ),
    emergency_contacts: z
      .array(ref('extension'))
      .max(50)
      .refine((d) => new Set(d).size === d.length, 'must contain each value once')
      .default([])
      .describe(
        'People whose pages show an emergency call at once, with its location, beside those of supervisors and administrators.',
      ),
  })
  .meta({ id: 'NetworkConfig' });

/** An engine beside that of the leading node. */
export const EngineConfig = z
  .strictObject({
    node: Node.describe('`OFFHOOK_NODE` of its machine.'),
    title: Title,
    host: Address.describe(
      'Address of its SIP, as the other engines of the site see it; requests from it belong to this engine.',
    ),
    port: Port.default(5060),
  })
  .meta({ id: 'EngineConfig' });
