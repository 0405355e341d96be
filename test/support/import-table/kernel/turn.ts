import './circle.ts' // circular
