/** Values of the templates. */
import { createHash } from 'node:crypto';
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import type { Values, Variables } from './template.ts';
import type { Vendor } from './vendors.ts';
import { bracketed } from '../../core/networks.ts';
import { zoneOffset } from '../../core/zone.ts';

const KEY: Variables = {
  /** Position among all keys from 1, after those of the lines; `position` is the same from 0, `spot` from 1 on its page. */
  index: 'text',
  position: 'text',
  spot: 'text',
  /** The vendor's own word for a key with a lamp, or one that dials. */
  type: 'text',
  lamp: 'flag',
  value: 'text',
  label: 'text',
  /** Dialled before `value` to pick up a ringing call; empty where there is nothing to pick up. */
  pickup: 'text',
};
/** Every variable of a template; docs/provisioning.md explains them. */
export const VARIABLES: Variables = {
  mac: 'text',
  /** Address of the folder of this phone, its token in it, without a slash at the end. */
  url: 'text',
  /** The same without `https://`. */
  path: 'text',
  secure: 'flag',
  /** Last part of `url`, with which the phone signs in to LDAP. */
  token: 'text',
  server: 'text',
  port: 'text',
  /** Whether there is a second server, for when the first one does not answer, and which. */
  backup: 'flag',
  backup_server: 'text',
  backup_port: 'text',
  /** `udp`, `tcp` or `tls`, and the vendor's own word for it. */
  protocol: 'text',
  transport: 'text',
  language: 'text',
  /** Of the site's zone without summer time, such as `+1` or `-3:30`. */
  offset: 'text',
  /** Whether the phonebook is read by LDAP; where `secure` is set, by LDAPS. */
  ldap: 'flag',
  ldap_server: 'text',
  ldap_port: 'text',
  ldap_base: 'text',
  /** Dialled before an extension to pick up its call; empty where that is switched off. */
  pickup_code: 'text',
  lines: {
    index: 'text',
    position: 'text',
    extension: 'text',
    name: 'text',
    user: 'text',
    password: 'text',
    srtp: 'text',
  },
  keys: KEY,
  /** The same keys by page. */
  pages: { page: 'text', keys: KEY },
};

/** Values of the site. */
export interface SiteValues {
  readonly person: (
    extension: string,
  ) =>
    | { readonly name: string; readonly password: string; readonly srtp: 'off' | 'offered' | 'required' }
    | undefined;
  readonly queue: (name: string) => { readonly number: string; readonly title: string } | undefined;
  /** Number that switches a time condition; undefined if no phone can. */
  readonly nightSwitch: (name: string) => { readonly code: string; readonly title: string } | undefined;
  readonly offset: string;
  /** Null where phones do not read the phonebook by LDAP. */
  readonly ldap: { readonly port: number; readonly base: string } | null;
  readonly pickup: string;
}
/** A SIP server; a host of null is the one that the phone fetched from. */
export interface PhoneServer {
  readonly host: string | null;
  readonly port: number;
}

/** The line of a shared phone has no extension: it shows the name of the phone. */
const sharedLine = (phone: Omit<ConfigBody<'phone'>, 'token'> & { readonly endpoint?: string }) => ({
  extension: '',
  user: phone.endpoint ?? '',
  name: phone.title ?? phone.name,
  password: phone.sip_password ?? '',
  srtp: phone.transport === 'tls' ? ('offered' as const) : ('off' as const),
});
/** An extension that is gone or not active has no line and no key. */
export function valuesOf(
  vendor: Vendor,
  phone: Omit<ConfigBody<'phone'>, 'token'> & { readonly endpoint?: string },
  layout: ConfigBody<'phone_layout'> | undefined,
  site: SiteValues,
): Values {
  const lines = phone.shared
    ? [sharedLine(phone)]
    : phone.extensions.flatMap((extension) => {
        const person = site.person(extension);
        return person === undefined ? [] : [{ extension, user: extension, ...person }];
      });
  const keys = (layout?.keys ?? []).flatMap(({ does, value, label }) => {
    const lamp = does !== 'speed_dial';
    const key = { lamp, type: vendor.keys[lamp ? 'lamp' : 'dial'], value, label: label ?? value, pickup: '' };
    if (does === 'extension') {
      const person = site.person(value);
      return person === undefined ? [] : [{ ...key, label: label ?? person.name, pickup: site.pickup }];
    }
    if (does === 'night_switch') {
      const at = site.nightSwitch(value);
      return at === undefined ? [] : [{ ...key, value: at.code, label: label ?? at.title }];
    }
    if (does !== 'queue') return [key];
    const queue = site.queue(value);
    return queue === undefined ? [] : [{ ...key, value: queue.number, label: label ?? queue.title }];
  });
  const numbered = keys.map((key, i) => ({
    ...key,
    index: String(lines.length + i + 1),
    position: String(lines.length + i),
    spot: String((i % vendor.keys_per_page) + 1),
  }));
  const pages = Array.from({ length: Math.ceil(numbered.length / vendor.keys_per_page) }, (_, i) => ({
    page: String(i + 1),
    keys: numbered.slice(i * vendor.keys_per_page, (i + 1) * vendor.keys_per_page),
  }));
  return {
    protocol: phone.transport,
    transport: vendor.transports[phone.transport],
    language: vendor.languages[phone.language],
    offset: site.offset,
    ldap: site.ldap !== null,
    ldap_port: String(site.ldap?.port ?? ''),
    ldap_base: site.ldap?.base ?? '',
    pickup_code: site.pickup,
    lines: lines.map(({ extension, name, password, srtp, user }, i) => ({
      index: String(i + 1),
      position: String(i),
      extension,
      name,
      user,
      password,
      srtp: vendor.srtp[srtp],
    })),
    keys: numbered,
    pages,
  };
}
/** SIP servers in the configuration of a phone that fetched it from `hostname`. */
export function serverValues(
  [first, second]: readonly [PhoneServer, ...PhoneServer[]],
  hostname: string,
): Values {
  const hostOf = ({ host }: PhoneServer): string => (host === null ? hostname : bracketed(host));
  return {
    server: hostOf(first),
    port: String(first.port),
    backup: second !== undefined,
    backup_server: second === undefined ? '' : hostOf(second),
    backup_port: String(second?.port ?? ''),
  };
}
/** Changes with everything that the phone is given, but not with the address at which it asks. */
export const versionOf = (values: Values, servers: readonly [PhoneServer, ...PhoneServer[]]): string =>
  createHash('sha256')
    .update(JSON.stringify([values, servers[0].host === null ? servers[0].port : servers]))
    .digest('hex')
    .slice(0, 12);

/** The zone's offset from UTC without summer time. */
export function offsetOf(zone: string, year: number): string {
  const minutes = [0, 6].map((month) => zoneOffset(zone)(Date.UTC(year, month, 1)) / 60_000);
  const least = Math.min(...minutes);
  const [hours, rest] = [Math.floor(Math.abs(least) / 60), Math.abs(least) % 60];
  return `${least < 0 ? '-' : '+'}${hours}${rest === 0 ? '' : `:${String(rest).padStart(2, '0')}`}`;
}
