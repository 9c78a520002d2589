/** HTTPS of the service itself, with the certificate of SIP over TLS. */
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import { messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Host } from '../http/host.ts';
import type { TlsPair } from '../http/secure.ts';
import type { CertificateFiles } from '../ports/certificates.ts';
import type { EngineSite } from '../ports/engine-site.ts';
import { ConfigError } from './config.ts';
import type { Address, Config } from './config.ts';

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

/** Null where the settings want none. Throws `ConfigError` where the address or a certificate is not available. */
export async function listenSecure(
  host: Pick<Host, 'listenSecure'>,
  parts: {
    readonly config: Config;
    readonly engineSite: Pick<EngineSite, 'certificates'>;
    readonly log: Log;
  },
  stack: AsyncDisposableStack,
): Promise<Address | null> {
  const { config, log } = parts;
  const { certificates } = parts.engineSite;
  if (config.httpsListen === null) return null;
  const at = `OFFHOOK_HTTPS_LISTEN=${config.httpsListen.host}:${config.httpsListen.port}`;
  if (certificates === null) throw new ConfigError(`${at}: there is no certificate here; leave it empty`);
  try {
    await certificates.ensure(hostsOf(config), 'http');
    const pair = await pairOf(certificates.files);
    const { host: name, port, use } = await host.listenSecure(config.httpsListen, { pair });
    stack.defer(
      certificates.onInstalled(async () => {
        use(await pairOf(certificates.files));
        log.info({}, 'HTTPS shows the certificate that was installed');
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
