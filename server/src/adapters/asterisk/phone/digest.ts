import { createHash, randomBytes } from 'node:crypto';

const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
const field = (challenge: string, name: string): string => {
  const pairs = [...challenge.matchAll(/\b([a-z]+)=(?:"([^"]*)"|([^\s",]*))/gi)];
  const found = pairs.find(([, key]) => key!.toLowerCase() === name);
  return found?.[2] ?? found?.[3] ?? '';
};

/** The answer to a `WWW-Authenticate: Digest` challenge (RFC 2617, MD5, with and without `qop=auth`). */
export function digestAnswer(
  challenge: string,
  request: { method: string; uri: string; username: string; password: string },
): string {
  const { method, uri, username, password } = request;
  const [realm, nonce, opaque] = [
    field(challenge, 'realm'),
    field(challenge, 'nonce'),
    field(challenge, 'opaque'),
  ];
  const ha1 = md5(`${username}:${realm}:${password}`);
  const ha2 = md5(`${method}:${uri}`);
  const parts = [
    `username="${username}"`,
    `realm="${realm}"`,
    `nonce="${nonce}"`,
    `uri="${uri}"`,
    'algorithm=MD5',
  ];
  if (opaque) parts.push(`opaque="${opaque}"`);
  if (field(challenge, 'qop')) {
    const cnonce = randomBytes(8).toString('hex');
    const response = md5(`${ha1}:${nonce}:00000001:${cnonce}:auth:${ha2}`);
    parts.push('qop=auth', 'nc=00000001', `cnonce="${cnonce}"`, `response="${response}"`);
  } else {
    parts.push(`response="${md5(`${ha1}:${nonce}:${ha2}`)}"`);
  }
  return `Digest ${parts.join(', ')}`;
}
