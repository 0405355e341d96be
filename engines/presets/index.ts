// The models that come with llmgw as definitions.
import type { Model } from '../../transport/contract/model.ts'
import { smollm2 } from './smollm2-135m.ts'

export const presets: readonly Model[] = [smollm2]

export const presetByName = (name: string): Model | undefined =>
  presets.find((preset) => preset.name === name)
