/** Serves the configuration of desk phones, pairs devices with phones and makes phones fetch changed configurations. */
import { createHash } from 'node:crypto';
import { setImmediate as turnOfOthers } from 'node:timers/promises';
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import type { PhoneDirectoryFile } from '@offhook/contract/phonebook-directory.ts';
import type { PhoneState, PhonesReply, WaitingPhone } from '@offhook/contract/phones.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { networkOf } from '../../core/networks.ts';
import { createRateLimit } from '../../core/rate-limit.ts';
import type { RateLimit } from '../../core/rate-limit.ts';
import { say } from '../../core/said.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { PhoneVerbs } from '../../ports/engine-verbs.ts';
import type { LiveView } from '../../ports/live.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import type { Fetch, Pairing, PhoneStore } from './store.ts';
import { renderTemplate } from './template.ts';
import type { Values } from './template.ts';
import type { PhoneServer } from './values.ts';
import { serverValues, valuesOf, versionOf } from './values.ts';
import type { SiteValues } from './values.ts';
import type { Vendor } from './vendors.ts';
import { WaitingPhones } from './waiting.ts';

/** A phone of the applied configuration. */
export interface Phone extends ConfigBody<'phone'> {
  readonly id: number;
  readonly token: string;
}
/** The applied configuration, as far as phones are concerned. */
export interface PhoneSite extends SiteValues {
  readonly phones: readonly Phone[];
  readonly layout: (name: string) => ConfigBody<'phone_layout'> | undefined;
  /** SIP servers of a phone: the first one, and its backups. */
  readonly servers: (
    phone: Pick<Phone, 'transport' | 'extensions'>,
  ) => readonly [PhoneServer, ...PhoneServer[]];
  /** The engine's name of a shared phone. */
  readonly sharedEndpoint: (phone: Phone) => string;
  /** The engine's name of the desk phones of an extension; null for none. */
  readonly endpoint: (extension: string) => string | null;
}
export interface PhonesDeps extends Common<'audit' | 'clock' | 'log'> {
  readonly store: PhoneStore;
  readonly vendors: ReadonlyMap<string, Vendor>;
  readonly site: () => PhoneSite;
  readonly engine: PhoneVerbs;
  readonly live: Pick<LiveView, 'device' | 'signed' | 'until'>;
  /** The phonebook of the site as XML, or what `q` finds in it. */
  readonly phonebook: (file: PhoneDirectoryFile, q: string) => Promise<string>;
}
/** A request to a phone address, by a phone or any other client. */
export interface Ask {
  /** Null at the common address. */
  readonly token: string | null;
  readonly file: string;
  readonly ip: string;
  /** True if the reply may contain secrets: the request came over TLS, or from a network that needs no TLS. */
  readonly safe: boolean;
  readonly agent: string;
  /** Text that the phone searches in the phonebook. */
  readonly q: string;
  /** Origin of this service as the phone reaches it. */
  readonly origin: string;
}
export interface ServedFile {
  readonly type: string;
  readonly text: string;
}
interface Known {
  readonly phone: Phone;
  readonly vendor: Vendor | undefined;
  /** Null if its vendor has no templates; computed at the first call, in 0.1 ms. */
  readonly version: () => string | null;
}

/** Limit of refused requests of one network: enough for an office behind one address whose phones try many files. */
const WRONG = { burst: 60, per_second: 0.5 };
/** Limit of audit entries about refused requests, of all networks together. */
const LOGGED = { burst: 60, per_second: 0.2 };
const AGENT_LENGTH = 200;
const CONFIRM_MS = 3_000;
const ROUNDS = 3;
const ROUND_MS = 10_000;
/** Pause after each notified phone, so that not all phones fetch at once. */
const GAP_MS = 20;
/** Phones compared in one run of the event loop. */
const AT_ONCE = 100;

const hashOf = (token: string): string => createHash('sha256').update(token).digest('base64url');
const nothing = (): ServiceError => new ServiceError('not_found', 'there is no such file for this phone');
/** MAC address in the User-Agent of a phone, in lower case; null if it has none. */
export const macOf = (agent: string): string | null =>
  /\b(?:[0-9a-f]{2}[:-]?){5}[0-9a-f]{2}\b/i.exec(agent)?.[0].replaceAll(/[:-]/g, '').toLowerCase() ?? null;

export class Phones {
  readonly #deps: PhonesDeps;
  readonly #pairings: Map<number, Pairing>;
  readonly #fetches: Map<number, Fetch>;
  readonly #waiting: WaitingPhones;
  readonly #wrong: RateLimit;
  readonly #logged: RateLimit;
  readonly #closing = new AbortController();
  #byToken = new Map<string, Known>();
  #byName = new Map<string, Known>();
  #notifying: Promise<void> | null = null;
  #again = false;

  private constructor(deps: PhonesDeps, pairings: readonly Pairing[], fetches: readonly Fetch[]) {
    this.#deps = deps;
    this.#pairings = new Map(pairings.map((p) => [p.phone, p]));
    this.#fetches = new Map(fetches.map((f) => [f.phone, f]));
    this.#waiting = new WaitingPhones(deps.clock);
    this.#wrong = createRateLimit(deps.clock, WRONG);
    this.#logged = createRateLimit(deps.clock, LOGGED);
    this.#read();
  }
  static async open(deps: PhonesDeps): Promise<Phones> {
    return new Phones(deps, await deps.store.pairings(), await deps.store.fetches());
  }

  /** Throws `not_found`, `forbidden` for a request without TLS, `too_many_requests`. */
  async serve(ask: Ask): Promise<ServedFile> {
    if (!ask.safe)
      throw new ServiceError(
        'forbidden',
        'the configuration of a phone contains passwords; fetch it over HTTPS',
      );
    const agentMac = macOf(ask.agent);
    if (ask.token === null) return await this.#serveWaiting(ask, agentMac);
    const known = this.#byToken.get(hashOf(ask.token));
    if (known === undefined) throw await this.#refused(ask, null, 'token');
    const mac = macIn(known.vendor, ask.file);
    const wanted = known.phone.mac ?? this.#paired(known.phone)?.mac ?? mac ?? agentMac;
    if ((mac ?? agentMac) !== null && [mac ?? wanted, agentMac ?? wanted].some((one) => one !== wanted))
      throw await this.#refused(ask, known.phone.name, 'mac');
    if (known.vendor?.phonebook === ask.file && this.#paired(known.phone) !== undefined)
      return { type: 'text/xml', text: await this.#deps.phonebook(known.vendor.phonebook, ask.q) };
    // Phones also request files of their vendor that this service does not have.
    if (mac === null) throw nothing();
    return await this.#file(ask, known, mac);
  }
  /** True for the token of a phone that has fetched its configuration. */
  knows(token: string): boolean {
    const known = this.#byToken.get(hashOf(token));
    return known !== undefined && this.#paired(known.phone) !== undefined;
  }
  /** Call after an apply: reads the configuration again and asks phones with a changed configuration to fetch it. */
  changed(): void {
    const before = [...this.#byName.values()].map(({ phone }) => phone.id);
    this.#read();
    const now = new Set([...this.#byName.values()].map(({ phone }) => phone.id));
    const gone = before.filter((id) => !now.has(id));
    for (const id of gone) {
      this.#pairings.delete(id);
      this.#fetches.delete(id);
    }
    if (gone.length > 0)
      this.#deps.store.remove(gone).catch((error: unknown) => {
        this.#deps.log.warn({ error: messageOf(error) }, 'data of deleted phones could not be removed');
      });
    this.#again = true;
    this.#notifying ??= this.#notifyLate().finally(() => {
      this.#notifying = null;
    });
  }
  page({
    limit = 50,
    cursor,
  }: {
    readonly limit?: number | undefined;
    readonly cursor?: string | undefined;
  }): Omit<PhonesReply, 'success'> {
    const names = [...this.#byName.keys()].toSorted();
    const rest = cursor === undefined ? names : names.filter((name) => name > cursor);
    const page = rest.slice(0, limit);
    return {
      total: names.length,
      phones: page.map((name) => this.#state(this.#byName.get(name)!)),
      waiting: this.#waiting.list().map((one): WaitingPhone => ({
        mac: one.mac,
        vendor: this.#vendorOf(one.mac)?.name ?? null,
        address: one.address,
        user_agent: one.agent,
        first_at: rfc3339(one.first),
        last_at: rfc3339(one.last),
        phone: one.phone,
      })),
      next_cursor: rest.length > limit ? page.at(-1)! : null,
    };
  }
  /** Throws `not_found`. */
  one(name: string): PhoneState {
    return this.#state(this.#known(name));
  }
  /** Returns the address to type into the phone. */
  async handOver(actor: Actor, name: string, origin: string): Promise<string> {
    const { phone, vendor } = this.#known(name);
    await this.#audit(actor, 'phone.handed_over', name, {});
    const url = `${origin}/provision/${phone.token}`;
    return (vendor?.address ?? '{url}/').replace('{url}', url);
  }
  /** Assigns a waiting device to this phone for its next fetch. Throws `not_found`, `name_taken` for another device. */
  async assign(
    actor: Actor,
    name: string,
    { mac, address }: { readonly mac: string; readonly address?: string | undefined },
  ): Promise<PhoneState> {
    const known = this.#known(name);
    const held = known.phone.mac ?? this.#paired(known.phone)?.mac ?? mac;
    if (held !== mac)
      throw new ServiceError(
        'name_taken',
        say`the phone ${name} is bound to the device ${held}; a new token allows another device`,
      );
    if (!this.#waiting.has(mac))
      throw new ServiceError('not_found', 'no phone with this MAC address is waiting');
    await this.#audit(actor, 'phone.assigned', name, { mac });
    if (!this.#waiting.assign(mac, name, address))
      throw new ServiceError(
        'not_found',
        'no phone with this MAC address is waiting at this network address: another device has asked with the same MAC address',
      );
    return this.#state(known);
  }
  /** Resolves once the person is signed out of a shared phone. Throws the errors of the engine. */
  async signOut(actor: Actor, name: string): Promise<PhoneState> {
    const known = this.#known(name);
    const { engine, live } = this.#deps;
    if (!known.phone.shared)
      throw new ServiceError('invalid_request', say`the phone ${name} is not a shared phone`);
    const endpoint = this.#deps.site().sharedEndpoint(known.phone);
    const extension = live.signed.get(endpoint)?.extension;
    await this.#audit(actor, 'phone.sign_out', name, extension === undefined ? {} : { extension });
    await engine.signOutPhone(endpoint, 'administrator', { signal: this.#closing.signal });
    await live.until(() => live.signed.get(endpoint)?.extension !== extension || extension === undefined, {
      ms: CONFIRM_MS,
      waitingFor: 'the sign-out at the phone',
    });
    return this.#state(known);
  }
  /** Throws the errors of the engine. */
  async notify(actor: Actor, name: string, event: 'check' | 'reboot'): Promise<PhoneState> {
    const known = this.#known(name);
    await this.#audit(actor, 'phone.notified', name, { event });
    await this.#send(known, event);
    return this.#state(known);
  }
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#notifying;
  }

  #read(): void {
    const site = this.#deps.site();
    const all = site.phones.map((phone): Known => {
      const vendor = this.#deps.vendors.get(phone.vendor);
      let made: string | undefined;
      const version = (): string | null =>
        vendor === undefined
          ? null
          : (made ??= versionOf(this.#values(site, phone, vendor), site.servers(phone)));
      return { phone, vendor, version };
    });
    this.#byToken = new Map(all.map((one) => [hashOf(one.phone.token), one]));
    this.#byName = new Map(all.map((one) => [one.phone.name, one]));
  }
  #values(site: PhoneSite, phone: Phone, vendor: Vendor): Values {
    const own = phone.shared ? { ...phone, endpoint: site.sharedEndpoint(phone) } : phone;
    return valuesOf(vendor, own, phone.layout === null ? undefined : site.layout(phone.layout), site);
  }
  #known(name: string): Known {
    const known = this.#byName.get(name);
    if (known === undefined)
      throw new ServiceError('not_found', say`the applied configuration has no phone ${name}`);
    return known;
  }
  /** The device that fetched with the current token. */
  #paired(phone: Phone): Pairing | undefined {
    const pairing = this.#pairings.get(phone.id);
    return pairing?.token_hash === hashOf(phone.token) ? pairing : undefined;
  }
  #vendorOf(mac: string): Vendor | undefined {
    return [...this.#deps.vendors.values()].find(({ macs }) => macs.some((one) => mac.startsWith(one)));
  }
  #state(known: Known): PhoneState {
    const { phone } = known;
    const version = known.version();
    const fetch = this.#fetches.get(phone.id);
    const pairing = this.#paired(phone);
    const endpoint = this.#endpoint(phone);
    return {
      name: phone.name,
      title: phone.title,
      vendor: phone.vendor,
      extensions: phone.extensions,
      shared: phone.shared,
      signed_in: this.#signedIn(phone),
      mac: phone.mac ?? pairing?.mac ?? null,
      paired_at: pairing === undefined ? null : rfc3339(pairing.paired_ms),
      version,
      fetched:
        fetch === undefined
          ? null
          : {
              at: rfc3339(fetch.at_ms),
              address: fetch.address,
              user_agent: fetch.user_agent,
              file: fetch.file,
              version: fetch.version,
            },
      up_to_date: pairing !== undefined && fetch?.version === version,
      registered: endpoint === null ? null : (this.#deps.live.device(endpoint)?.reachable ?? null),
    };
  }
  #endpoint(phone: Phone): string | null {
    const site = this.#deps.site();
    return phone.shared ? site.sharedEndpoint(phone) : site.endpoint(phone.extensions[0] ?? '');
  }
  #signedIn(phone: Phone): PhoneState['signed_in'] {
    const site = this.#deps.site();
    const one = phone.shared ? this.#deps.live.signed.get(site.sharedEndpoint(phone)) : undefined;
    if (one === undefined) return null;
    const { extension, since } = one;
    return { extension, name: site.person(extension)?.name ?? extension, since: rfc3339(since) };
  }
  async #serveWaiting(ask: Ask, agentMac: string | null): Promise<ServedFile> {
    const found = [...this.#deps.vendors.values()].flatMap((vendor) => macIn(vendor, ask.file) ?? [])[0];
    const mac = found ?? agentMac;
    if (mac !== null && found !== undefined && (agentMac ?? mac) === mac) {
      const name = this.#waiting.take(mac, ask);
      const known = name === null ? undefined : this.#byName.get(name);
      if (known !== undefined && macIn(known.vendor, ask.file) === mac) {
        this.#waiting.remove(mac);
        return await this.#file(ask, known, mac);
      }
    }
    if (!this.#wrong.allows(networkOf(ask.ip, 32, 64))) throw tooMany();
    if (mac !== null) this.#waiting.saw(mac, ask);
    throw nothing();
  }
  async #file(ask: Ask, known: Known, mac: string): Promise<ServedFile> {
    const { clock, store } = this.#deps;
    const { phone, vendor } = known;
    const version = known.version();
    const file = vendor?.files.find((one) => one.macIn(ask.file) !== null);
    if (vendor === undefined || file === undefined || version === null) throw nothing();
    const site = this.#deps.site();
    const { host, hostname, protocol } = new URL(ask.origin);
    const folder = `/provision/${phone.token}`;
    const text = renderTemplate(file.template, {
      ...this.#values(site, phone, vendor),
      mac,
      token: phone.token,
      url: `${ask.origin}${folder}`,
      path: `${host}${folder}`,
      secure: protocol === 'https:',
      ldap_server: hostname,
      ...serverValues(site.servers(phone), hostname),
    });
    const at_ms = clock.now();
    const fetch = {
      phone: phone.id,
      at_ms,
      address: ask.ip,
      user_agent: shown(ask.agent),
      file: ask.file,
      version,
    };
    const pairing =
      this.#paired(phone) === undefined
        ? { phone: phone.id, token_hash: hashOf(phone.token), mac, paired_ms: at_ms }
        : null;
    // In memory first, so that only one of two devices that fetch at the same time is paired.
    const former = this.#pairings.get(phone.id);
    if (pairing !== null) this.#pairings.set(phone.id, pairing);
    try {
      await store.keep(fetch, pairing);
    } catch (error) {
      if (pairing !== null && this.#pairings.get(phone.id) === pairing) {
        if (former === undefined) this.#pairings.delete(phone.id);
        else this.#pairings.set(phone.id, former);
      }
      throw error;
    }
    this.#fetches.set(phone.id, fetch);
    return { type: file.type, text };
  }
  /** Audits a refused request and returns its error. */
  async #refused(ask: Ask, phone: string | null, reason: 'token' | 'mac'): Promise<ServiceError> {
    const { audit, log } = this.#deps;
    if (!this.#wrong.allows(networkOf(ask.ip, 32, 64))) return tooMany();
    if (this.#logged.allows('')) {
      const detail = { reason, file: shown(ask.file), user_agent: shown(ask.agent) };
      await audit
        .record({
          action: 'phone.refused',
          actor: null,
          object: phone,
          outcome: 'refused',
          ip: ask.ip,
          detail,
        })
        .catch((error: unknown) =>
          log.error({ error: messageOf(error) }, 'a refused phone could not be audited'),
        );
    }
    return nothing();
  }
  async #audit(
    { caller, ip }: Actor,
    action: string,
    object: string,
    detail: NonNullable<AuditEntry['detail']>,
  ): Promise<void> {
    const actor = caller.extension || caller.username;
    await this.#deps.audit.record({ action, actor, object, outcome: 'ok', ip, detail });
  }
  async #send({ phone, vendor }: Known, event: 'check' | 'reboot'): Promise<void> {
    const endpoint = this.#endpoint(phone);
    if (vendor === undefined || endpoint === null)
      throw new ServiceError(
        'not_found',
        'this phone cannot be asked to fetch: it has no endpoint or its vendor has no such request',
      );
    await this.#deps.engine.notifyPhones(endpoint, vendor.events[event], { signal: this.#closing.signal });
  }
  /** Phones that last fetched another version than the current one. */
  async #late(): Promise<Known[]> {
    const late: Known[] = [];
    let i = 0;
    for (const known of this.#byName.values()) {
      if (++i % AT_ONCE === 0) await turnOfOthers();
      const fetched = this.#fetches.get(known.phone.id)?.version;
      if (fetched !== undefined && fetched !== (known.version() ?? fetched)) late.push(known);
    }
    return late;
  }
  async #notifyLate(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#closing;
    for (let round = 0; (round < ROUNDS || this.#again) && !signal.aborted; round += 1) {
      if (this.#again) round = 0;
      this.#again = false;
      const late = await this.#late();
      if (late.length === 0 && !this.#again) return;
      for (const known of late) {
        if (signal.aborted) return;
        await this.#send(known, 'check').catch((error: unknown) => {
          log.debug({ phone: known.phone.name, error: messageOf(error) }, 'a phone was not asked to fetch');
        });
        await clock.sleep(GAP_MS, signal).catch(() => undefined);
      }
      for (let waited = 0; waited < ROUND_MS && !this.#again && !signal.aborted; waited += ROUND_MS / 100)
        await clock.sleep(ROUND_MS / 100, signal).catch(() => undefined);
    }
  }
}
const macIn = (vendor: Vendor | undefined, file: string): string | null =>
  vendor?.files.map((one) => one.macIn(file)).find((mac) => mac !== null) ?? null;
const tooMany = (): ServiceError =>
  new ServiceError('too_many_requests', 'too many requests for files that do not exist', {
    retry_after_seconds: 60,
  });
/** A text from an unknown client as it is stored: cut, without control characters. */
const shown = (text: string): string => text.slice(0, AGENT_LENGTH).replaceAll(/\p{C}/gu, '?');
