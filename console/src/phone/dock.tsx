/** The phone on every page: its button and, on demand, its panel, which keeps a call across pages. */
import { Suspense, useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { ReactNode } from 'react';
import { Text, UnstyledButton } from '@mantine/core';
import { Phone } from 'lucide-react';
import { late } from '../app/late.tsx';
import { useLive } from '../app/live.ts';
import { useMe, useSession } from '../app/session.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './dock.module.css';
import { phone } from './phone.ts';
import type { PhoneState } from './phone-state.ts';

const t = wordsOf('dock');

const PhonePanel = late(
  async () => (await Promise.all([import('./panel.tsx'), import('../app/all-styles.ts')]))[0].PhonePanel,
);
type Lamp = PhoneState['status']['is'] | 'ringing' | 'busy';
function lampOf({ status, calls }: PhoneState): Lamp {
  if (calls.some((call) => call.state === 'incoming')) return 'ringing';
  if (status.is === 'ready' && calls.some((call) => call.state !== 'ended')) return 'busy';
  return status.is;
}

export function PhoneDock(): ReactNode {
  const { client, state: session } = useSession();
  const live = useLive();
  const { extension } = useMe();
  const state = useSyncExternalStore(phone.subscribe, () => phone.state);
  const [open, setOpen] = useState(false);
  const show = useCallback((next: boolean) => {
    // A reported failure was read when the panel is folded; the same one opens it again.
    if (!next) phone.softphone?.dismiss();
    setOpen(next);
  }, []);
  const asked = useRef(false);
  useEffect(() => {
    if (session.is === 'in') phone.use({ extension, client, live });
    else phone.retire();
  }, [session.is, extension, client, live]);
  const lamp = lampOf(state);
  const wanted = open || state.status.is !== 'off';
  return (
    <>
      <UnstyledButton
        className={`${styles.button ?? ''} ${styles[lamp] ?? ''}`}
        aria-label={`${t('phone')}: ${t(lamp)}`}
        aria-expanded={open}
        aria-controls="phone"
        onClick={() => {
          asked.current = !open;
          show(!open);
        }}
      >
        <Phone size={18} aria-hidden />
        <Text size="sm" fw={600} visibleFrom="md" aria-hidden>
          {t('phone')}
        </Text>
        <span className={styles.lamp} aria-hidden />
      </UnstyledButton>
      {wanted && (
        <Suspense fallback={null}>
          <PhonePanel open={open} asked={asked} onOpen={show} />
        </Suspense>
      )}
    </>
  );
}
