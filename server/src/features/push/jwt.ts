/** Signed tokens (RFC 7519) for push services. */
import { createPrivateKey, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { ServiceError } from '../../core/errors.ts';

type Algorithm = 'RS256' | 'ES256';
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Reads a private key in PEM. Throws `invalid_request` where it is not one of this algorithm. */
export function readKey(pem: string, algorithm: Algorithm): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new ServiceError('invalid_request', 'private_key: must be a readable private key in PEM');
  }
  const fits =
    algorithm === 'RS256'
      ? key.asymmetricKeyType === 'rsa'
      : key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  if (!fits)
    throw new ServiceError(
      'invalid_request',
      algorithm === 'RS256' ? 'private_key: must be an RSA key' : 'private_key: must be a P-256 key',
    );
  return key;
}
export function signedToken(algorithm: Algorithm, key: KeyObject, header: object, claims: object): string {
  const text = `${part({ alg: algorithm, typ: 'JWT', ...header })}.${part(claims)}`;
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}
