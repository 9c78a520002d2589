/** HTTPS of a web node, with the certificate of the leading node. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { faultOf } from '../adapters/certificates/check.ts';
import { messageOf } from '../core/errors.ts';
import { replaceFile, textOf } from '../core/files.ts';
import { certificatesOf } from '../core/pem.ts';
import type { Host } from '../http/host.ts';
import type { TlsPair } from '../http/secure.ts';
import type { CertificateFault, CertificateState } from '../ports/certificates.ts';
import type { Common } from '../ports/common.ts';
import { ConfigError } from './config.ts';
import type { Address } from './setting-values.ts';
import type { Config } from './config.ts';
import { certificateOf } from './leader.ts';
import type { Leader } from './leader.ts';

/** Interval between two questions for a renewed certificate, and between those for the first one, in ms. */
const ASK_MS = 10_000;
const FIRST_MS = 1_000;

export interface WebCertificateDeps extends Common<'clock' | 'log'> {
  readonly leader: Pick<Leader, 'call'>;
  /** Decrypts what the leading node sends. */
  readonly key: Buffer;
  /** Folder of the data; the certificate is kept there for a start while no node leads. */
  readonly data: string;
}
export class WebCertificate {
  readonly #deps: WebCertificateDeps;
  #pair: TlsPair | null = null;
  /** Received but not accepted yet; it is tried again without another transfer. */
  #offered: TlsPair | null = null;
  #fault: CertificateFault | null = null;
  #said = '';

  constructor(deps: WebCertificateDeps) {
    this.#deps = deps;
  }
  state(): CertificateState {
    const first = this.#pair === null ? undefined : certificatesOf(this.#pair.certificate)[0];
    const { subject = '', issuer = '', validToDate } = first ?? {};
    const used = validToDate === undefined ? null : { subject, issuer, valid_to: validToDate.getTime() };
    return { used, fault: this.#fault };
  }
  /** The certificate of the leading node, else the one kept in the data folder; waits while there is neither. */
  async first(signal: AbortSignal, waiting: () => void): Promise<TlsPair> {
    const { certificate, key } = this.#files;
    const [pem, secret] = [await textOf(certificate), await textOf(key)];
    if (pem !== null && secret !== null && this.#accepts({ certificate: pem, key: secret }))
      this.#pair = { certificate: pem, key: secret };
    for (let asked = 0; ; asked += 1) {
      await this.#ask();
      if (this.#pair !== null) return this.#pair;
      if (asked === 0) waiting();
      await wait(FIRST_MS, undefined, { signal });
    }
  }
  /** Calls `use` with each renewed certificate until the signal. */
  async follow(use: (pair: TlsPair) => void, signal: AbortSignal): Promise<void> {
    for (;;) {
      await wait(ASK_MS, undefined, { signal });
      const before = this.#pair;
      await this.#ask();
      if (this.#pair === null || this.#pair === before) continue;
      use(this.#pair);
      this.#deps.log.info({}, 'HTTPS uses the certificate of the leading node');
    }
  }

  get #files() {
    const folder = path.join(this.#deps.data, 'tls');
    return { certificate: path.join(folder, 'certificate.pem'), key: path.join(folder, 'key.pem') };
  }
  #accepts(pair: TlsPair): boolean {
    this.#fault = faultOf(pair.certificate, pair.key, this.#deps.clock.now());
    return this.#fault === null;
  }
  /** Fetches the certificate of the leading node; after any failure the present one is kept. */
  async #ask(): Promise<void> {
    const { leader, key, log } = this.#deps;
    try {
      const last = this.#offered ?? this.#pair;
      const pair = (await certificateOf(leader, key, 'certificate', last)) ?? this.#offered;
      if (pair === null) return void this.#accepts(this.#pair!);
      this.#offered = pair;
      if (!this.#accepts(pair)) throw new Error(`${this.#fault!.code}: ${this.#fault!.detail}`);
      await mkdir(path.dirname(this.#files.key), { recursive: true, mode: 0o700 });
      await replaceFile(this.#files.key, pair.key);
      await replaceFile(this.#files.certificate, pair.certificate);
      this.#pair = pair;
      this.#offered = null;
      this.#said = '';
    } catch (error) {
      const why = messageOf(error);
      if (why !== this.#said)
        log.warn({ error: why }, 'the certificate of the leading node could not be fetched or used');
      this.#said = why;
    }
  }
}

/** Null where the settings want no HTTPS. Throws `ConfigError` where the address is not available. */
export async function listenByCertificate(
  host: Pick<Host, 'listenSecure'>,
  parts: {
    readonly config: Pick<Config, 'httpsListen'>;
    readonly certificate: WebCertificate;
    /** The one to begin with. */
    readonly pair: TlsPair | null;
  },
  stack: AsyncDisposableStack,
): Promise<Address | null> {
  const { certificate, config, pair } = parts;
  if (config.httpsListen === null || pair === null) return null;
  const { use, ...address } = await host
    .listenSecure(config.httpsListen, { pair })
    .catch((error: unknown) => {
      const { host: name, port } = config.httpsListen!;
      throw new ConfigError(
        `OFFHOOK_HTTPS_LISTEN=${name}:${port}: expected an address that is free; ${messageOf(error)}`,
      );
    });
  const stop = new AbortController();
  const following = certificate.follow(use, stop.signal).catch(() => undefined);
  stack.defer(() => {
    stop.abort();
    return following;
  });
  return address;
}
