/** What I say of myself, in the header of every page; what is needed to change it is loaded when it is opened. */
import { Suspense, useState } from 'react';
import type { ReactNode } from 'react';
import { Loader, Popover, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useRecord } from '../app/live.ts';
import { useMe } from '../app/session.tsx';
import { PresenceBadge } from './badge.tsx';
import { shownOf } from './state.ts';
import { wordsOf } from '../app/words.ts';
import styles from './presence.module.css';
import { late } from '../app/late.tsx';

const t = wordsOf('presence');

const Form = late(async () => (await import('./own-form.tsx')).OwnPresenceForm);

export function OwnPresence(): ReactNode {
  const { extension } = useMe();
  const presence = useRecord('presence', extension, [extension]);
  const [opened, setOpened] = useState(false);
  const shown = shownOf(presence);
  const note = presence?.note ?? null;
  return (
    <Popover
      opened={opened}
      onChange={setOpened}
      position="bottom-end"
      width={320}
      trapFocus
      withinPortal
      withRoles={false}
      shadow="md"
    >
      <Popover.Target>
        <UnstyledButton
          className={styles.own ?? ''}
          onClick={() => setOpened(!opened)}
          aria-haspopup="dialog"
          aria-expanded={opened}
        >
          <VisuallyHidden>{t('mine', { word: '' })}</VisuallyHidden>
          <PresenceBadge shown={shown}>
            {note !== null && <span className={styles.ownNote}>{note}</span>}
          </PresenceBadge>
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown role="dialog" aria-label={t('title')}>
        <Suspense fallback={<Loader size="sm" />}>
          <Form onDone={() => setOpened(false)} />
        </Suspense>
      </Popover.Dropdown>
    </Popover>
  );
}
