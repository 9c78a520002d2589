import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Browsers in which a person has signed in before; their failed sign-ins are counted separately. */
export interface KnownDevices {
  /** Id of the device behind a cookie that was issued for this person; null for anything else. */
  idOf(personId: number, given: string | undefined): string | null;
  /** The cookie for a device after a sign-in; a valid one is kept. */
  give(personId: number, given: string | undefined): string;
}

/** Stateless: the cookie contains an id and a signature over person and id, made with the key of the site. */
export function createKnownDevices(key: Buffer): KnownDevices {
  const sign = (personId: number, id: string): Buffer =>
    createHmac('sha256', key).update(`device ${personId} ${id}`).digest();
  const idOf: KnownDevices['idOf'] = (personId, given = '') => {
    const [id = '', signature = '', ...more] = given.split('.');
    if (!/^[A-Za-z0-9_-]{22}$/.test(id) || more.length > 0) return null;
    const right = sign(personId, id);
    const shown = Buffer.from(signature, 'base64url');
    return shown.length === right.length && timingSafeEqual(shown, right) ? id : null;
  };
  return {
    idOf,
    give(personId, given) {
      if (given !== undefined && idOf(personId, given) !== null) return given;
      const id = randomBytes(16).toString('base64url');
      return `${id}.${sign(personId, id).toString('base64url')}`;
    },
  };
}
