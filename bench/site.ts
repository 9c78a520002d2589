import type { SiteEvent } from '../server/src/ports/live.ts';

/** Extensions from 100000 on, each with its three endpoints; the site has no queues. */
export const siteOf = (extensions: number): SiteEvent => ({
  type: 'site.changed',
  at: 0,
  extensions: Array.from({ length: extensions }, (_, i) => {
    const extension = String(100_000 + i);
    return {
      extension,
      name: `Person ${i}`,
      endpoints: [
        { name: extension, kind: 'sip' as const },
        { name: `${extension}-web`, kind: 'webrtc' as const },
        { name: `${extension}-mobile`, kind: 'mobile' as const },
      ],
    };
  }),
  queues: [],
  trunks: [],
  pause_reasons: [],
  services: [],
});
