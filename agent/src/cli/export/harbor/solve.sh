#!/bin/bash
cp /solution/gist.py /app/gist.py
