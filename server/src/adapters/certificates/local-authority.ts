/** The authority of a site without a certificate of its own: created once, it issues what phones trust after they got `ca.pem`. */
import { X509Certificate, createPrivateKey, randomBytes, webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import path from 'node:path';
import { certificatesOf } from '../../core/pem.ts';
import { replaceFile } from '../../core/files.ts';
import { loadX509 } from '../../core/x509.ts';
import type { CertificateKeys } from '../../core/x509.ts';

type Key = CertificateKeys['privateKey'];
export const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;
/** Phones refuse certificates of servers that hold longer. */
const ISSUED_DAYS = 397;
const AUTHORITY_DAYS = 3_650;
/** A clock that is a little behind accepts a new certificate too. */
const BACKDATED_MS = 3_600_000;
export const AUTHORITY_FILE = 'ca.pem';
const AUTHORITY_KEY = 'ca.key';

const serial = (): string => `01${randomBytes(15).toString('hex')}`;
export const newKeys = async (): Promise<CertificateKeys> =>
  (await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as unknown as CertificateKeys;
export async function pemOfKey(key: Key): Promise<string> {
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key as webcrypto.CryptoKey));
  const text = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }).export({
    format: 'pem',
    type: 'pkcs8',
  });
  return String(text);
}

interface Authority {
  readonly pem: string;
  readonly key: Key;
}
async function createAuthority(folder: string, now: number): Promise<Authority> {
  const x509 = await loadX509();
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: `CN=Offhook site ${randomBytes(4).toString('hex')}`,
    notBefore: new Date(now - BACKDATED_MS),
    notAfter: new Date(now + AUTHORITY_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const pem = `${certificate.toString('pem')}\n`;
  await replaceFile(path.join(folder, AUTHORITY_KEY), await pemOfKey(keys.privateKey));
  await replaceFile(path.join(folder, AUTHORITY_FILE), pem);
  return { pem, key: keys.privateKey };
}
async function openAuthority(folder: string, now: number): Promise<Authority> {
  try {
    const [pem, keyPem] = await Promise.all(
      [AUTHORITY_FILE, AUTHORITY_KEY].map((name) => readFile(path.join(folder, name), 'utf8')),
    );
    const usable =
      new X509Certificate(pem!).checkPrivateKey(createPrivateKey(keyPem!)) &&
      certificatesOf(pem!)[0]!.validToDate.getTime() > now + ISSUED_DAYS * DAY_MS;
    if (usable) {
      const der = createPrivateKey(keyPem!).export({ format: 'der', type: 'pkcs8' });
      const key = await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, true, ['sign']);
      return { pem: pem!, key: key as unknown as Key };
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== undefined && code !== 'ENOENT' && !code.startsWith('ERR_')) throw error;
  }
  return await createAuthority(folder, now);
}

/** A certificate for these host names and addresses, with the chain up to the authority in `folder`. */
export async function issueCertificate(
  folder: string,
  hosts: readonly string[],
  now: number,
): Promise<{ readonly certificate: string; readonly key: string }> {
  const authority = await openAuthority(folder, now);
  const x509 = await loadX509();
  const keys = await newKeys();
  const issuer = new x509.X509Certificate(authority.pem);
  const names = hosts.map((host) => ({
    type: isIP(host) === 0 ? ('dns' as const) : ('ip' as const),
    value: host,
  }));
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: `CN=${hosts[0] ?? 'localhost'}`,
    issuer: issuer.subject,
    notBefore: new Date(now - BACKDATED_MS),
    notAfter: new Date(now + ISSUED_DAYS * DAY_MS),
    signingKey: authority.key,
    publicKey: keys.publicKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        x509.ExtendedKeyUsage.serverAuth,
        x509.ExtendedKeyUsage.clientAuth,
      ]),
      new x509.SubjectAlternativeNameExtension(names),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return {
    certificate: `${certificate.toString('pem')}\n${authority.pem}`,
    key: await pemOfKey(keys.privateKey),
  };
}
