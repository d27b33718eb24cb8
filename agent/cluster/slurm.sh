#!/bin/bash
#SBATCH --job-name=gistify
#SBATCH --array=1-8
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@60
# A bench on Slurm. DIR is a run directory on a disk that all nodes share:
#
#   gistify bench plan requests flask --run-dir DIR
#   sbatch --export=ALL,DIR=DIR agent/cluster/slurm.sh
#   gistify bench finish DIR
#
# Slurm sends TERM a minute before the limit of time. The worker drops what it has begun and ends with 75; the job then
# goes back to the queue, and skips the units that have a result.
gistify bench work "${DIR:?}" --from-env &
trap 'kill -TERM $!' TERM
wait $!; code=$?
# A trapped signal ends the first wait before the worker has ended.
[ $code -le 128 ] || { wait $!; code=$?; }
[ $code -ne 75 ] || exec scontrol requeue "$SLURM_JOB_ID"
exit $code
