import { useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Code, NativeSelect, Switch, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ConsoleSettingsReply, SecondFactorLevel } from '@offhook/contract/console-settings.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { fieldsWith } from '../app/field-errors.ts';
import { consoleSettingsQuery } from '../app/queries.ts';
import { useClient } from '../app/session.tsx';
import { Read } from '../app/states.tsx';
import { CallSettingsSection } from './call-settings.tsx';
import { PageHead, Section, useChange } from '../app/page-parts.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('system');

const FACTOR_LEVELS = ['off', 'admin', 'supervisor', 'agent', 'user'] as const;
const SAMPLE = {
  number: '+493012345678',
  name: 'Ada Lovelace',
  conversation: 'ast1:1763683200.42',
  queue: 'support',
};
const sampleOf = (pattern: string): string =>
  pattern.replaceAll(/\{(number|name|conversation|queue)\}/g, (_, word: string) =>
    encodeURIComponent(SAMPLE[word as keyof typeof SAMPLE]),
  );

function ConsoleForm({ settings }: { readonly settings: ConsoleSettingsReply['settings'] }): ReactNode {
  const client = useClient();
  const [link, setLink] = useState(settings.crm_link ?? '');
  const [confirm, setConfirm] = useState(settings.confirm_supervision);
  const [factor, setFactor] = useState<SecondFactorLevel>(settings.second_factor ?? 'off');
  const change = useChange(
    () =>
      client.consoleSettings.set({
        crm_link: link.trim() === '' ? null : link.trim(),
        confirm_supervision: confirm,
        ...(factor === settings.second_factor ? {} : { second_factor: factor }),
      }),
    { renews: ['console-settings'], done: () => t('saved') },
  );
  const labels = {
    crm_link: t('crm_link'),
    confirm_supervision: t('confirm_supervision'),
    second_factor: t('second_factor'),
  };
  const field = fieldsWith(change.error, labels);
  return (
    <ChangeForm change={change} submit={t('save')} labels={labels} maw={760}>
      <TextInput
        {...field('crm_link')}
        description={t('crm_link_hint')}
        placeholder="https://crm.example.com/search?phone={number}"
        inputMode="url"
        value={link}
        onChange={(event) => setLink(event.currentTarget.value)}
      />
      {link.trim() !== '' && (
        <Text size="sm" c="dimmed">
          {t('crm_link_sample')} <Code style={{ overflowWrap: 'anywhere' }}>{sampleOf(link.trim())}</Code>
        </Text>
      )}
      <Switch
        {...field('confirm_supervision')}
        description={t('confirm_supervision_hint')}
        checked={confirm}
        onChange={(event) => setConfirm(event.currentTarget.checked)}
      />
      <NativeSelect
        {...field('second_factor')}
        description={t('second_factor_hint')}
        value={factor}
        onChange={(event) => setFactor(event.currentTarget.value as SecondFactorLevel)}
        data={FACTOR_LEVELS.map((level) => ({ value: level, label: t(`second_factor_${level}`) }))}
      />
      <Text size="sm">
        {t('site_zone')}: <b>{settings.site_zone}</b>{' '}
        <Text span size="sm" c="dimmed">
          {t('site_zone_hint')}
        </Text>
      </Text>
    </ChangeForm>
  );
}
/** Settings of the site for console and calls. */
export function SettingsPage(): ReactNode {
  const client = useClient();
  const read = useQuery({ ...consoleSettingsQuery(client), staleTime: 0 });
  return (
    <>
      <PageHead
        title={t('settings')}
        lead={
          <>
            {t('settings_lead')}{' '}
            <Anchor href="/docs" size="sm" underline="always">
              {t('documentation')}
            </Anchor>
          </>
        }
      />
      <Section title={t('console')} text={t('console_text')}>
        <Read of={read}>{(settings) => <ConsoleForm settings={settings} />}</Read>
      </Section>
      <CallSettingsSection />
    </>
  );
}
