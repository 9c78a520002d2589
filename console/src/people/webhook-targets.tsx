import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Stack, TagsInput, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { WebhookSettingsReply } from '@offhook/contract/webhooks.ts';
import { Ask } from '../app/danger.tsx';
import { fieldsWith } from '../app/field-errors.ts';
import { useClient } from '../app/session.tsx';
import { Read } from '../app/states.tsx';
import { useFields } from '../app/use-fields.ts';
import { Section, useChange } from '../app/page-parts.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('webhooks');

function TargetsForm({ settings }: { readonly settings: WebhookSettingsReply['settings'] }): ReactNode {
  const client = useClient();
  const { private_targets } = settings;
  const { fields, set, saved } = useFields({ private_targets });
  const targets = fields.private_targets;
  const [asked, setAsked] = useState(false);
  const change = useChange(() => client.webhooks.setSettings(fields), {
    renews: ['webhook-settings', 'webhooks'],
    done: () => t('targets_saved'),
    onDone(stored) {
      saved(fields, { private_targets: stored.settings.private_targets });
      setAsked(false);
    },
  });
  const added = targets.filter((one) => !private_targets.includes(one));
  const removed = private_targets.filter((one) => !targets.includes(one));
  const labels = { private_targets: t('private_targets') };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        change.reset();
        setAsked(true);
      }}
    >
      <Stack maw={760}>
        <TagsInput
          {...fieldsWith(change.error, labels)('private_targets')}
          description={t('private_targets_hint')}
          placeholder="10.1.0.0/16"
          value={targets}
          onChange={(next) => set({ private_targets: next })}
        />
        {settings.fixed_targets.length > 0 && (
          <Text size="sm" c="dimmed">
            {t('fixed_targets', { targets: settings.fixed_targets.join(', ') })}
          </Text>
        )}
        <Group>
          <Button type="submit" disabled={added.length + removed.length === 0}>
            {t('save')}
          </Button>
        </Group>
      </Stack>
      <Ask
        title={t('targets_title')}
        text={[
          ...(added.length === 0 ? [] : [t('targets_added', { targets: added.join(', ') })]),
          ...(removed.length === 0 ? [] : [t('targets_removed', { targets: removed.join(', ') })]),
        ].join(' ')}
        yes={t('save')}
        opened={asked}
        busy={change.isPending}
        error={change.error}
        labels={labels}
        onYes={() => change.mutate(undefined)}
        onClose={() => setAsked(false)}
      />
    </form>
  );
}
/** Addresses in the company's network that webhooks may call. */
export function PrivateTargets(): ReactNode {
  const client = useClient();
  const read = useQuery({
    queryKey: ['webhook-settings'],
    queryFn: async ({ signal }) => (await client.webhooks.settings(signal)).settings,
  });
  return (
    <Section title={t('private_section')} text={t('private_text')}>
      <Read of={read}>{(settings) => <TargetsForm settings={settings} />}</Read>
    </Section>
  );
}
