/** HTTPS of the service itself, with the certificate of SIP over TLS. */
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import { rfc3339 } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { Log } from '../core/log.ts';
import type { Host } from '../http/host.ts';
import { listenChallenges } from '../http/acme-listener.ts';
import type { TlsPair } from '../http/secure.ts';
import type { EngineLoop } from '../journal/engine-loop.ts';
import type { CertificateFiles, RenewalChange } from '../ports/certificates.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineSite } from '../ports/engine-site.ts';
import { ConfigError } from './config.ts';
import type { Address } from './setting-values.ts';
import type { Config } from './config.ts';

const ANY: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
/** Names and addresses by which browsers may call for it. */
function hostsOf({ publicUrl, httpsListen }: Pick<Config, 'publicUrl' | 'httpsListen'>): readonly string[] {
  const host = httpsListen?.host ?? 'localhost';
  const own = Object.values(os.networkInterfaces()).flatMap((all) => all ?? []);
  const shown = ANY.has(host)
    ? own.filter(({ address, internal }) => !internal && !/^fe80:/i.test(address)).map((one) => one.address)
    : [host];
  const named = publicUrl === '' ? [] : [new URL(publicUrl).hostname.replace(/^\[|\]$/g, '')];
  return [...new Set([...named, ...shown, os.hostname(), 'localhost', '127.0.0.1'])];
}
async function pairOf(files: CertificateFiles): Promise<TlsPair> {
  const [certificate, key] = await Promise.all([
    readFile(files.certificate, 'utf8'),
    readFile(files.key, 'utf8'),
  ]);
  return { certificate, key };
}

/** The certificate of this node for web nodes, made where no program of this node needed one yet. */
export async function sharedPair({
  config,
  engineSite,
}: {
  readonly config: Config;
  readonly engineSite: Pick<EngineSite, 'certificates'>;
}): Promise<TlsPair> {
  const { certificates } = engineSite;
  if (certificates === null) throw new Error('this node has no certificate');
  await certificates.ensure(hostsOf(config), 'http');
  return await pairOf(certificates.files);
}

const renewalEvent = (change: RenewalChange, now: number): DomainEvent => {
  const names = [...change.names];
  const frame = { subject: 'certificate', at: now, observed: 'live' } as const;
  return change.renewed
    ? { ...frame, type: 'certificate.renewed', data: { names, valid_to: rfc3339(change.valid_to) } }
    : {
        ...frame,
        type: 'certificate.renewal_failed',
        data: { names, detail: change.detail, next_try_at: rfc3339(change.next_try_at) },
      };
};

/** Null where the settings want none. Throws `ConfigError` where the address or a certificate is not available. */
export async function listenSecure(
  host: Pick<Host, 'listenSecure'>,
  parts: {
    readonly config: Config;
    readonly engineSite: Pick<EngineSite, 'certificates' | 'renewal'>;
    readonly log: Log;
  },
  stack: AsyncDisposableStack,
): Promise<Address | null> {
  const { config, log } = parts;
  const { certificates, renewal } = parts.engineSite;
  if (config.httpsListen === null) return null;
  const at = `OFFHOOK_HTTPS_LISTEN=${config.httpsListen.host}:${config.httpsListen.port}`;
  if (certificates === null)
    throw new ConfigError(`${at}: this node has no certificate; leave the setting empty`);
  try {
    await certificates.ensure(hostsOf(config), 'http');
    const pair = await pairOf(certificates.files);
    const {
      host: name,
      port,
      use,
    } = await host.listenSecure(config.httpsListen, {
      pair,
      ...(renewal === null ? {} : { challenge: renewal.challenges.alpn }),
    });
    stack.defer(
      certificates.onInstalled(async () => {
        use(await pairOf(certificates.files));
        log.info({}, 'HTTPS uses the installed certificate');
      }),
    );
    return { host: name, port };
  } catch (error) {
    throw new ConfigError(
      `${at}: expected an address that is free, and a certificate that can be used; ${messageOf(error)}`,
      { cause: error },
    );
  }
}

/** Answers to HTTP-01 and orders certificates until the stop; nothing where the settings name no ACME server. */
export async function beginRenewal(
  parts: {
    readonly config: Config;
    readonly engineSite: Pick<EngineSite, 'renewal'>;
    readonly loop: Pick<EngineLoop, 'publish'>;
    readonly clock: Clock;
    readonly log: Log;
  },
  stack: AsyncDisposableStack,
): Promise<void> {
  const { clock, config, log, loop } = parts;
  const { renewal } = parts.engineSite;
  if (renewal === null) return;
  if (config.acmeHttpListen !== null) {
    const { host, port } = config.acmeHttpListen;
    const { publicUrl } = config;
    const elsewhere = publicUrl.startsWith('https:') ? publicUrl : null;
    const listener = await listenChallenges(config.acmeHttpListen, renewal.challenges.http, elsewhere).catch(
      (error: unknown) => {
        throw new ConfigError(
          `OFFHOOK_ACME_HTTP_LISTEN=${host}:${port}: expected an address that is free; ${messageOf(error)}`,
        );
      },
    );
    stack.defer(() => listener.close());
  }
  const stop = new AbortController();
  const ended = renewal.run((change) => loop.publish([renewalEvent(change, clock.now())]), stop.signal);
  ended.catch((error: unknown) =>
    log.error({ error: messageOf(error) }, 'the renewal of certificates stopped'),
  );
  stack.defer(async () => {
    stop.abort();
    await ended.catch(() => undefined);
  });
}
