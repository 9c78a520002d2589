/** Gets a certificate by ACME and renews it at two thirds of its life; a failure leaves the one before. */
import { createHash, createPrivateKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import tls from 'node:tls';
import { Backoff } from '../../../core/backoff.ts';
import { messageOf } from '../../../core/errors.ts';
import { replaceFile, textOf } from '../../../core/files.ts';
import { loadX509 } from '../../../core/x509.ts';
import type { Ordered, Renewal, RenewalChange, RenewalState } from '../../../ports/certificates.ts';
import type { Common } from '../../../ports/common.ts';
import { certificatesOf } from '../../../core/pem.ts';
import { faultOf } from '../check.ts';
import { ALGORITHM, newKeys, pemOfKey } from '../local-authority.ts';
import { Challenges } from './challenges.ts';
import { AcmeClient } from './client.ts';
import type { ChallengeKind } from './client.ts';

export interface AcmeRenewalOptions extends Common<'clock' | 'log'> {
  /** Folder of the account and of the certificate. */
  readonly folder: string;
  readonly directory: string;
  readonly names: readonly string[];
  readonly email: string | null;
  readonly kind: ChallengeKind;
  /** File of authorities that the server is checked against beside the public ones; null for none. */
  readonly trusted: string | null;
}
const ORDER_MS = 300_000;
/** Below the limits of public authorities: five failed validations of a name within an hour. */
const AGAIN = { first_ms: 900_000, most_ms: 43_200_000, spread: [0.9, 1.1] } as const;
/** The clock of the machine may jump. */
const LOOK_MS = 3_600_000;
/** Part of its life by which a renewal may be later, so that many sites do not come at once. */
const JITTER = 0.02;

/** Paths of the certificate, its key and what it was ordered with. */
export const acmeFiles = (folder: string) => ({
  certificate: path.join(folder, 'certificate.pem'),
  key: path.join(folder, 'key.pem'),
  order: path.join(folder, 'order.json'),
  account: path.join(folder, 'account.pem'),
});

/** Two thirds of its life and a part that differs by certificate; milliseconds since 1970. */
export function dueAt(pem: string): number {
  const first = certificatesOf(pem)[0];
  if (first === undefined) return 0;
  const [from, to] = [first.validFromDate.getTime(), first.validToDate.getTime()];
  const share = createHash('sha256').update(first.raw).digest().readUInt16BE() / 65_536;
  return from + (to - from) * (2 / 3 + JITTER * share);
}

export class AcmeRenewal implements Renewal {
  readonly #options: AcmeRenewalOptions;
  readonly challenges = new Challenges();
  readonly #again = new Backoff(AGAIN);
  #state: RenewalState = { due_at: null, failed: null };

  constructor(options: AcmeRenewalOptions) {
    this.#options = options;
  }
  state(): RenewalState {
    return this.#state;
  }
  async run(changed: (change: RenewalChange) => void, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const pause = await this.round(changed, signal);
      await clock.sleep(Math.min(pause, LOOK_MS), signal).catch(() => undefined);
    }
  }
  /** Orders a certificate where it is due; resolves with the milliseconds until the next round. */
  async round(changed: (change: RenewalChange) => void, signal: AbortSignal): Promise<number> {
    const { clock, log, names } = this.#options;
    const retry = this.#state.failed?.next_try_at ?? 0;
    if (retry > clock.now()) return retry - clock.now();
    try {
      const due = await this.#due();
      if (due > clock.now()) {
        this.#state = { due_at: due, failed: null };
        return due - clock.now();
      }
      const valid_to = await this.#order(AbortSignal.any([signal, AbortSignal.timeout(ORDER_MS)]));
      this.#again.reset();
      this.#state = { due_at: await this.#due(), failed: null };
      log.info({ names, valid_to }, 'a certificate was issued by ACME');
      changed({ renewed: true, names, valid_to });
      return Math.max(0, (this.#state.due_at ?? 0) - clock.now());
    } catch (error) {
      if (signal.aborted) return 0;
      const detail = messageOf(error);
      const pause = this.#again.next();
      const next_try_at = clock.now() + pause;
      this.#state = { ...this.#state, failed: { detail, next_try_at } };
      log.error(
        { names, error: detail, next_try_ms: pause },
        'ACME issued no certificate; the one in use stays',
      );
      changed({ renewed: false, names, detail, next_try_at });
      return pause;
    }
  }

  /** Inputs of a certificate's order; another directory or other names need another certificate. */
  get #ordered(): string {
    const { directory, names } = this.#options;
    return JSON.stringify({ directory, names });
  }
  async ordered(): Promise<Ordered | null> {
    const files = acmeFiles(this.#options.folder);
    const [certificate, key, order] = await Promise.all([
      textOf(files.certificate),
      textOf(files.key),
      textOf(files.order),
    ]);
    return certificate === null || key === null || order === null ? null : { certificate, key, order };
  }
  async keep(ordered: Ordered): Promise<boolean> {
    if (!this.#isSound(ordered)) return false;
    await this.#write(ordered);
    return true;
  }
  #isSound({ certificate, key, order }: Ordered): boolean {
    return order === this.#ordered && faultOf(certificate, key, this.#options.clock.now()) === null;
  }
  async #due(): Promise<number> {
    const last = await this.ordered();
    return last !== null && this.#isSound(last) ? dueAt(last.certificate) : 0;
  }
  async #write({ certificate, key, order }: Ordered): Promise<void> {
    const { folder } = this.#options;
    const files = acmeFiles(folder);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await replaceFile(files.key, key);
    await replaceFile(files.certificate, certificate);
    await replaceFile(files.order, order);
  }
  async #account(file: string): Promise<KeyObject> {
    const known = await textOf(file);
    if (known !== null) return createPrivateKey(known);
    const pem = await pemOfKey((await newKeys()).privateKey);
    await replaceFile(file, pem);
    return createPrivateKey(pem);
  }
  /** Resolves with the end of the new certificate. */
  async #order(signal: AbortSignal): Promise<number> {
    const { clock, directory, email, folder, kind, names, trusted } = this.#options;
    const files = acmeFiles(folder);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const x509 = await loadX509();
    const keys = await newKeys();
    const csr = await x509.Pkcs10CertificateRequestGenerator.create({
      signingAlgorithm: ALGORITHM,
      keys,
      extensions: [
        new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value }))),
      ],
    });
    const more = trusted === null ? null : await textOf(trusted);
    const ca = [...tls.rootCertificates, ...(more === null ? [] : [more])];
    const client = new AcmeClient({ directory, key: await this.#account(files.account), ca, clock, signal });
    const certificate = await client.order({
      names,
      email,
      kind,
      csr: Buffer.from(csr.rawData),
      answer: (name, token, keyAuthorization) =>
        this.challenges.answer(kind, { name, token, keyAuthorization, now: clock.now() }),
    });
    const key = await pemOfKey(keys.privateKey);
    const fault = faultOf(certificate, key, clock.now());
    if (fault !== null) throw new Error(`${fault.code}: ${fault.detail}`);
    await this.#write({ certificate, key, order: this.#ordered });
    return certificatesOf(certificate)[0]!.validToDate.getTime();
  }
}
