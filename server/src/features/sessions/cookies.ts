/** Cookies of a browser: its session, and the device cookie of earlier sign-ins. */
import { DEVICE_COOKIE, HOST_SESSION_COOKIE, SESSION_COOKIE } from '@offhook/contract/session.ts';
import type { Exchange } from '../../ports/http.ts';

type Request = Exchange['request'];
type Reply = Exchange['reply'];
/** Browsers keep a cookie for 400 days at most. */
const DEVICE_SECONDS = 400 * 86_400;

function cookieText(name: string, value: string, seconds: number): string {
  const secure = name.startsWith('__Host-') ? '; Secure' : '';
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`;
}
const cookies = ({ headers: { cookie = '' } }: Request): string[] =>
  cookie.split(';').map((pair) => pair.trim());
const hasCookie = (request: Request, name: string): boolean =>
  cookies(request).some((pair) => pair.startsWith(`${name}=`));
/** Value of the cookie with exactly this name. */
export const cookieNamed = (request: Request, name: string): string | undefined =>
  cookies(request)
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);
/** Value of the cookie with or without the `__Host-` prefix. */
export const cookieOf = (request: Request, name: string): string | undefined =>
  cookieNamed(request, `__Host-${name}`) ?? cookieNamed(request, name);

/** Sets the session cookie; an empty value deletes it. */
export function setSessionCookie(request: Request, reply: Reply, value: string, seconds: number): void {
  const named = request.ownOrigin().startsWith('https:') ? HOST_SESSION_COOKIE : SESSION_COOKIE;
  reply.header('set-cookie', cookieText(named, value, seconds));
  // The cookie of the other name would otherwise stay in the browser.
  const other = named === SESSION_COOKIE ? HOST_SESSION_COOKIE : SESSION_COOKIE;
  if (hasCookie(request, other)) reply.header('set-cookie', cookieText(other, '', 0));
}
export function setDeviceCookie(request: Request, reply: Reply, device: string): void {
  const named = request.ownOrigin().startsWith('https:') ? `__Host-${DEVICE_COOKIE}` : DEVICE_COOKIE;
  reply.header('set-cookie', cookieText(named, device, DEVICE_SECONDS));
}
/** A page's own GET has no `Origin`; browsers send `Sec-Fetch-Site` instead, for a trustworthy address. */
export function isForeign(request: Request): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers;
  return origin === undefined ? site !== undefined && site !== 'same-origin' : !request.sameOrigin();
}
