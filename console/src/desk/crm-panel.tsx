import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Switch } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ExternalLink } from 'lucide-react';
import { consoleSettingsQuery } from '../app/queries.ts';
import { useClient } from '../app/session.tsx';
import { Key } from './action.tsx';
import { crmLink } from './crm-link.ts';
import type { LinkValues } from './crm-link.ts';
import { useShortcut } from './shortcuts.ts';
import { wordsOf } from '../app/words.ts';
import styles from './desk.module.css';

const t = wordsOf('desk');

const AUTO = 'offhook.desk.crm';
const OPENED = 'offhook.desk.crm.opened';
const open = (link: string): void => void window.open(link, '_blank', 'noopener,noreferrer');

interface CrmLinkProps {
  readonly callId: string;
  /** The call is answered and not over. */
  readonly answered: boolean;
  readonly values: LinkValues;
  /** Page of the customer of the call in a connected system. */
  readonly page: string | undefined;
}
/** Link to this caller: its page in a connected system, else the link that an administrator has set. */
export function CrmLink({ callId, answered, values, page }: CrmLinkProps): ReactNode {
  const client = useClient();
  const settings = useQuery(consoleSettingsQuery(client));
  const [auto, setAuto] = useState(() => localStorage.getItem(AUTO) === 'on');
  const pattern = settings.data?.crm_link ?? null;
  // A link with the number is useless without one.
  const set = values.number === '' && pattern?.includes('{number}') ? null : crmLink(pattern, values);
  const link = page ?? set;
  useShortcut('k', link === null ? null : () => open(link));
  useEffect(() => {
    if (!auto || !answered || link === null) return;
    // Opened once for each call, by one of the tabs.
    if (localStorage.getItem(OPENED) === callId) return;
    localStorage.setItem(OPENED, callId);
    open(link);
  }, [auto, answered, link, callId]);
  if (link === null) return null;
  return (
    <Group gap="md" className={styles.crm ?? ''}>
      <Button
        component="a"
        href={link}
        target="_blank"
        rel="noopener noreferrer"
        variant="light"
        aria-keyshortcuts="k"
        leftSection={<ExternalLink size={18} aria-hidden />}
        rightSection={<Key name="k" />}
      >
        {t('crm')}
      </Button>
      <Switch
        size="sm"
        label={t('crm_auto')}
        description={t('crm_auto_hint')}
        checked={auto}
        onChange={(event) => {
          const on = event.currentTarget.checked;
          localStorage.setItem(AUTO, on ? 'on' : 'off');
          setAuto(on);
        }}
      />
    </Group>
  );
}
