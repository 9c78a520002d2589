import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Browsers that a person has signed in with: their guesses are counted apart from everybody else's. */
export interface KnownDevices {
  /** The device behind what it was given, where that was given for this person; null for anything else. */
  idOf(personId: number, given: string | undefined): string | null;
  /** For a device that has just signed in; what it has already, where that is good. */
  give(personId: number, given: string | undefined): string;
}

/** Nothing is stored: what a device is given names the person it is good for, signed with the key of the site. */
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
