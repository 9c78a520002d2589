/** Keeps the files of the certificate in use: those given, or of the site's own authority. */
import { X509Certificate } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { ServiceError, hasCode, messageOf } from '../../core/errors.ts';
import { replaceFile, textOf } from '../../core/files.ts';
import type {
  CertificateFault,
  CertificateFiles,
  Certificates,
  CertificateState,
} from '../../ports/certificates.ts';
import type { Common } from '../../ports/common.ts';
import { certificatesOf } from '../../core/pem.ts';
import { faultOf } from './check.ts';
import { AUTHORITY_FILE, issueCertificate } from './local-authority.ts';

interface Pair {
  readonly certificate: string;
  readonly key: string;
}
export interface KeeperOptions extends Common<'clock' | 'log'> {
  /** Folder of the files in use. */
  readonly folder: string;
  /** Paths of the given files; null for the site's own authority. */
  readonly own: Pair | null;
  /** Given files come later by themselves: until then the site's own authority issues. */
  readonly awaited?: boolean;
  /** File of authorities that trunks are checked against beside the public ones; null for none. */
  readonly trusted: string | null;
}
/** Interval at which the given files are compared with those in use. */
const WATCH_MS = 30_000;
/** A certificate of the own authority is issued anew this long before its end. */
const RENEW_MS = 30 * 86_400_000;

export class CertificateKeeper implements Certificates {
  readonly files: CertificateFiles;
  readonly #options: KeeperOptions;
  /** Exists while a program may still use an earlier pair than that of the files, also after the end of this process. */
  readonly #untaken: string;
  readonly #hostsOf = new Map<'sip' | 'http' | 'ldap', readonly string[]>();
  #last: Promise<void> = Promise.resolve();
  readonly #listeners = new Set<() => Promise<void>>();
  #fault: CertificateFault | null = null;
  #used: CertificateState['used'] = null;
  /** Pair that the programs refused, so that it is not offered to them again. */
  #refused: string | null = null;

  constructor(options: KeeperOptions) {
    this.#options = options;
    const file = (name: string): string => path.join(options.folder, name);
    this.files = {
      certificate: file('certificate.pem'),
      key: file('key.pem'),
      trusted: file('trusted.pem'),
    };
    this.#untaken = file('untaken');
  }
  state(): CertificateState {
    return { used: this.#used, fault: this.#fault };
  }
  onInstalled(listener: () => Promise<void>): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
  /** `hosts`: names and addresses that a certificate of the own authority is for. */
  ensure(hosts: readonly string[], program: 'sip' | 'http' | 'ldap' = 'sip'): Promise<void> {
    return this.#alone(() => this.#ensure(hosts, program));
  }
  /**
   * Installs renewed files and has the programs take them in (`take`), also those that `ensure` installed; a pair that they
   * refuse is replaced by the one before. Ends with the signal.
   */
  async watch(take: () => Promise<void>, signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(WATCH_MS, signal);
      await this.renew(take).catch((error: unknown) => {
        this.#options.log.error(
          { error: messageOf(error) },
          'the certificate could not be checked or renewed',
        );
      });
    }
  }
  /** One round of `watch`; does nothing before the first `ensure`, or where the programs use the wanted pair already. */
  renew(take: () => Promise<void>): Promise<void> {
    return this.#alone(() => this.#renew(take));
  }

  /** HTTPS, an apply and the watch want the same files. */
  #alone(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
  async #ensure(hosts: readonly string[], program: 'sip' | 'http' | 'ldap'): Promise<void> {
    this.#hostsOf.set(program, hosts);
    await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
    await this.#trust();
    const wanted = await this.#wanted();
    if (wanted !== null) await this.#install(wanted);
    if ((await this.#inUse()) === null)
      throw new ServiceError(
        'invalid_configuration',
        `${this.#fault?.code ?? 'certificate_unreadable'}: ${this.#fault?.detail ?? 'there is no certificate'}`,
      );
  }
  async #renew(take: () => Promise<void>): Promise<void> {
    const before = await this.#inUse();
    if (before === null) return;
    const wanted = await this.#wanted();
    if (wanted !== null) await this.#install(wanted);
    else if (before.certificate === this.#refused || (await textOf(this.#untaken)) === null) return;
    try {
      await this.#taken(take);
      this.#options.log.info({ valid_to: this.#used?.valid_to }, 'a renewed certificate is in use');
    } catch (error) {
      // An engine that is away has refused nothing: the next round asks it again.
      if (hasCode(error, 'engine_unavailable')) throw error;
      this.#refused = (wanted ?? before).certificate;
      if (wanted === null) throw error;
      await this.#install(before);
      this.#options.log.error(
        { error: messageOf(error) },
        'a renewed certificate was refused; the former one stays in use',
      );
      await this.#taken(take);
    }
  }
  async #taken(take: () => Promise<void>): Promise<void> {
    await take();
    await rm(this.#untaken, { force: true });
  }

  /** The pair that should be in use; null where that is the one in use, or where the given one has a fault or was refused. */
  async #wanted(): Promise<Pair | null> {
    const { awaited = false, own, clock, folder } = this.#options;
    const now = clock.now();
    const used = await this.#inUse();
    if (own === null || (awaited && (await textOf(own.certificate)) === null)) {
      if (used !== null && this.#lasts(used, now)) return null;
      return await issueCertificate(folder, this.#hosts, now);
    }
    let given: Pair;
    try {
      const [certificate, key] = await Promise.all([textOf(own.certificate), textOf(own.key)]);
      given = { certificate: certificate ?? '', key: key ?? '' };
    } catch (error) {
      this.#report({ code: 'certificate_unreadable', detail: messageOf(error) });
      return null;
    }
    this.#report(faultOf(given.certificate, given.key, now));
    const same = used !== null && used.certificate === given.certificate && used.key === given.key;
    return this.#fault !== null || same || given.certificate === this.#refused ? null : given;
  }
  get #hosts(): readonly string[] {
    return [...new Set([...this.#hostsOf.values()].flat())];
  }
  #report(fault: CertificateFault | null): void {
    if (fault !== null && fault.code !== this.#fault?.code)
      this.#options.log.error({ ...fault }, 'the given certificate is not used; the one in use stays');
    this.#fault = fault;
  }
  /** Whether a certificate of the own authority holds for long enough, and for every host. */
  #lasts({ certificate, key }: Pair, now: number): boolean {
    if (faultOf(certificate, key, now + RENEW_MS) !== null) return false;
    const first = new X509Certificate(certificate);
    return this.#hosts.every((host) => (isIP(host) === 0 ? first.checkHost(host) : first.checkIP(host)));
  }
  async #inUse(): Promise<Pair | null> {
    const [certificate, key] = await Promise.all([textOf(this.files.certificate), textOf(this.files.key)]);
    if (certificate === null || key === null) return null;
    this.#note(certificate);
    return { certificate, key };
  }
  #note(pem: string): void {
    const first = certificatesOf(pem)[0];
    this.#used =
      first === undefined
        ? null
        : {
            subject: first.subject,
            issuer: first.issuer,
            valid_to: first.validToDate.getTime(),
          };
  }
  /** The key first: a program that reads between the two finds a pair that does not fit, and keeps what it has. */
  async #install({ certificate, key }: Pair): Promise<void> {
    // Before the files, because the process may end between them and `take`. Nothing uses a pair before the first one.
    if ((await textOf(this.files.certificate)) !== null) await replaceFile(this.#untaken, '');
    await replaceFile(this.files.key, key);
    await replaceFile(this.files.certificate, certificate);
    this.#note(certificate);
    for (const listener of this.#listeners) await listener();
  }
  async #trust(): Promise<void> {
    const { folder, trusted } = this.#options;
    const more = await Promise.all([
      trusted === null ? null : textOf(trusted),
      textOf(path.join(folder, AUTHORITY_FILE)),
    ]);
    const text = `${[...tls.rootCertificates, ...more.flatMap((pem) => pem?.trim() ?? [])].join('\n')}\n`;
    if ((await textOf(this.files.trusted)) !== text) await replaceFile(this.files.trusted, text);
  }
}
