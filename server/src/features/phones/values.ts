/** Variables of the templates, and their values for a phone. */
import { createHash } from 'node:crypto';
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import type { Values, Variables } from './template.ts';
import type { Vendor } from './vendors.ts';
import { bracketed } from '../../core/networks.ts';
import { zoneOffset } from '../../core/zone.ts';

const KEY: Variables = {
  /** Number of the key from 1, counted after the lines; `position` counts from 0, `spot` from 1 on each page. */
  index: 'text',
  position: 'text',
  spot: 'text',
  /** The vendor's word for a key with a lamp or for a key that only dials. */
  type: 'text',
  lamp: 'flag',
  value: 'text',
  label: 'text',
  /** Dialled before `value` to pick up a call to an extension; empty for other keys and without the feature code. */
  pickup: 'text',
};
/** Every variable of a template; docs/provisioning.md explains them. */
export const VARIABLES: Variables = {
  mac: 'text',
  /** Address of this phone's folder, which contains its token; without a slash at the end. */
  url: 'text',
  /** The same without `https://`. */
  path: 'text',
  secure: 'flag',
  /** Last part of `url`; also the password of the phone at the LDAP port. */
  token: 'text',
  server: 'text',
  port: 'text',
  /** True if there is a second server to use when the first one does not answer. */
  backup: 'flag',
  backup_server: 'text',
  backup_port: 'text',
  /** `udp`, `tcp` or `tls`, and the vendor's own word for it. */
  protocol: 'text',
  transport: 'text',
  language: 'text',
  /** Offset of the site's zone from UTC without summer time, such as `+1` or `-3:30`. */
  offset: 'text',
  /** True if the phone reads the phonebook by LDAP, or by LDAPS if `secure` is set. */
  ldap: 'flag',
  ldap_server: 'text',
  ldap_port: 'text',
  ldap_base: 'text',
  /** Dialled before an extension to pick up its call; empty if the feature code is disabled. */
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
/** Values for one phone. Deleted and inactive extensions get no line and no key. */
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
/** Hash of all values of a phone, except the address from which it fetches. */
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
