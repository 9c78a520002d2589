/** The user's own presence in the header of every page. */
import type { ReactNode } from 'react';
import { UnstyledButton, VisuallyHidden } from '@mantine/core';
import { late } from '../app/late.tsx';
import { useRecord } from '../app/live.ts';
import { Opened, useOpener } from '../app/opener.tsx';
import { useMe } from '../app/session.tsx';
import { wordsOf } from '../app/words.ts';
import { PresenceBadge } from './badge.tsx';
import { shownOf } from './state.ts';
import styles from './presence.module.css';

const t = wordsOf('presence');

const OwnPresenceForm = late(async () => (await import('./own-form.tsx')).OwnPresenceForm);

export function OwnPresence(): ReactNode {
  const { extension } = useMe();
  const presence = useRecord('presence', extension, [extension]);
  const form = useOpener('dialog');
  const note = presence?.note ?? null;
  return (
    <>
      <UnstyledButton className={styles.own ?? ''} {...form.button}>
        <VisuallyHidden>{t('mine', { word: '' })}</VisuallyHidden>
        <PresenceBadge shown={shownOf(presence)}>
          {note !== null && <span className={styles.ownNote}>{note}</span>}
        </PresenceBadge>
      </UnstyledButton>
      <Opened by={form}>
        <OwnPresenceForm {...form.floating} />
      </Opened>
    </>
  );
}
