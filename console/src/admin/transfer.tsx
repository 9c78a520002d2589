/** The whole configuration as one YAML file: export, and import with a preview of its changes. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import {
  Badge,
  Button,
  Group,
  List,
  Modal,
  Paper,
  SegmentedControl,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { OffhookError } from '@offhook/client';
import type { ConfigDocument } from '@offhook/contract/config.ts';
import { Download } from 'lucide-react';
import { ChooseFile } from '../app/choose-file.tsx';
import { formatNumber } from '../app/format.ts';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { Failure, Loading } from '../app/states.tsx';
import { useLocation } from 'wouter';
import { PAGE_PATHS } from '../app/paths.ts';
import { useDraftState, useRenewed } from './data.ts';
import { fieldLabel } from './field-words.ts';
import { FindingText, ObjectLink } from './object-form.tsx';
import { PendingBadge } from './pending.tsx';
import { saveFile } from './save-file.ts';
import { say } from './say.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

/** Limit of the service. */
const MAX_BYTES = 24 * 1024 * 1024;
interface Brought {
  readonly name: string;
  readonly document: ConfigDocument;
}
async function read(file: File): Promise<Brought | string> {
  if (file.size > MAX_BYTES) return t('file_too_large');
  const { parse } = await import('yaml');
  try {
    const document: unknown = parse(await file.text(), {
      schema: 'core',
      uniqueKeys: true,
      maxAliasCount: 100,
      logLevel: 'error',
    });
    if (typeof document === 'object' && document !== null && !Array.isArray(document))
      return { name: file.name, document: document as ConfigDocument };
    return t('file_no_document');
  } catch (error) {
    return `${t('file_unreadable')} ${error instanceof Error ? error.message : ''}`;
  }
}
export function Transfer(): ReactNode {
  const client = useClient();
  const [brought, setBrought] = useState<Brought | null>(null);
  const [wrong, setWrong] = useState('');
  const [failed, setFailed] = useState<unknown>(null);
  async function take(view: 'draft' | 'applied'): Promise<void> {
    setFailed(null);
    try {
      const [document, { stringify }] = await Promise.all([client.config.export(view), import('yaml')]);
      const { success: _success, ...whole } = document as ConfigDocument & { success?: true };
      // Texts are quoted, so that every YAML reader keeps `1001` a text.
      saveFile(
        `offhook-${view}.yaml`,
        'application/yaml',
        stringify(whole, {
          defaultStringType: 'QUOTE_DOUBLE',
          defaultKeyType: 'PLAIN',
          lineWidth: 0,
          aliasDuplicateObjects: false,
        }),
      );
    } catch (caught) {
      setFailed(caught);
    }
  }
  async function bring(file: File): Promise<void> {
    const got = await read(file);
    setWrong(typeof got === 'string' ? got : '');
    if (typeof got !== 'string') setBrought(got);
  }
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="transfer">
      <Title order={2} size="h4" id="transfer">
        {t('transfer')}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {t('transfer_lead')}
      </Text>
      <Group gap="xs">
        <Button
          variant="default"
          leftSection={<Download size={16} aria-hidden />}
          onClick={() => void take('applied')}
        >
          {t('export_applied')}
        </Button>
        <Button
          variant="default"
          leftSection={<Download size={16} aria-hidden />}
          onClick={() => void take('draft')}
        >
          {t('export_draft')}
        </Button>
        <ChooseFile
          text={t('import')}
          accept=".yaml,.yml,.json,application/yaml,application/json"
          onFile={(file) => void bring(file)}
        />
      </Group>
      {wrong !== '' && (
        <Text size="sm" c="var(--offhook-alert)" mt="xs" role="alert">
          {wrong}
        </Text>
      )}
      {failed !== null && <Failure error={failed} />}
      {brought !== null && <Preview brought={brought} onClose={() => setBrought(null)} />}
    </Paper>
  );
}
function Preview({
  brought,
  onClose,
}: {
  readonly brought: Brought;
  readonly onClose: () => void;
}): ReactNode {
  const client = useClient();
  const renew = useRenewed();
  const draft = useDraftState();
  const [, go] = useLocation();
  const [mode, setMode] = useState<'replace' | 'merge'>('replace');
  const preview = useQuery({
    queryKey: ['config-preview', brought, mode],
    queryFn: ({ signal }) => client.config.import(brought.document, { mode, dry_run: 'true' }, { signal }),
    retry: false,
    // The import is of the draft that this preview saw: it is refused once another user has changed the draft.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const take = useOnce({
    mutationFn: (if_match: string) => client.config.import(brought.document, { mode, if_match }),
    async onSuccess() {
      await renew();
      say(t('imported'));
      go(PAGE_PATHS.changes);
    },
    async onError() {
      await Promise.all([renew(), preview.refetch()]);
    },
  });
  const error = take.error ?? preview.error ?? draft.error;
  const findings = error instanceof OffhookError ? (error.problem?.findings ?? []) : [];
  const differs = preview.data?.differs;
  return (
    <Modal opened onClose={onClose} size="xl" title={t('preview_of', { name: brought.name })}>
      <Stack gap="sm">
        <SegmentedControl
          aria-label={t('import_mode')}
          value={mode}
          onChange={(next) => setMode(next as 'replace' | 'merge')}
          data={[
            { value: 'replace', label: t('mode_replace') },
            { value: 'merge', label: t('mode_merge') },
          ]}
        />
        <Text size="sm" c="dimmed">
          {t(mode === 'replace' ? 'mode_replace_text' : 'mode_merge_text')}
          {(draft.data?.total ?? 0) > 0 && ` ${t('import_over_draft')}`}
        </Text>
        {error !== null && findings.length === 0 && <Failure error={error} />}
        {findings.length > 0 && (
          <List size="sm" role="alert">
            {findings.map((finding, i) => (
              <List.Item key={i}>
                <FindingText finding={finding} />
              </List.Item>
            ))}
          </List>
        )}
        {preview.isPending && <Loading />}
        {differs !== undefined && (
          <>
            <Group gap="xs">
              {(['added', 'changed', 'removed'] as const).map((what) => (
                <Badge key={what} variant="default" tt="none" size="lg">
                  {`${t(`pending_${what}`)}: ${formatNumber(differs[what])}`}
                </Badge>
              ))}
            </Group>
            <List
              size="sm"
              spacing={4}
              listStyleType="none"
              mah={320}
              style={{ overflow: 'auto' }}
              tabIndex={0}
              aria-label={t('objects')}
            >
              {differs.named.map((one) => (
                <List.Item key={`${one.kind}/${one.key}`}>
                  <Group gap="xs">
                    <PendingBadge pending={one.pending} />
                    <ObjectLink kind={one.kind} name={one.key} />
                    <Text size="xs" c="dimmed">
                      {one.pending === 'changed' &&
                        one.fields.map((field) => fieldLabel(one.kind, field)).join(', ')}
                    </Text>
                  </Group>
                </List.Item>
              ))}
            </List>
          </>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {t('cancel')}
          </Button>
          <Button
            loading={take.isPending}
            disabled={preview.data === undefined || preview.isFetching}
            onClick={() => preview.data !== undefined && take.mutate(preview.data.etag)}
          >
            {t('make_draft')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
